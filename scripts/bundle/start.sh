#!/bin/sh
# Starts the program libexec/NAME, where NAME is the name by which this script is called, with the bundle's own
# libraries. CUDA's libraries are those of the machine. They are searched in SPLITCAST_CUDA_LIBRARIES (directories
# separated by colons), then in CUDA_HOME or /usr/local/cuda, then in LD_LIBRARY_PATH, which may also have those of the
# driver.
root=$(dirname "$(readlink -f "$0")")
libraries=$root/lib${SPLITCAST_CUDA_LIBRARIES:+:$SPLITCAST_CUDA_LIBRARIES}:${CUDA_HOME:-/usr/local/cuda}/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# The libraries are passed to the loader and not in the environment, so that programs started by this one do not use
# them.
exec "$root/lib/ld-linux-x86-64.so.2" --library-path "$libraries" "$root/libexec/$(basename "$0")" "$@"
