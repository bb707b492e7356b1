#!/bin/sh
# Starts the program that is called by this name, with the bundle's own libraries. CUDA's are the machine's: those in
# SPLITCAST_CUDA_LIBRARIES (folders, with colons between), then CUDA_HOME's or /usr/local/cuda's; its driver's may be in
# LD_LIBRARY_PATH.
root=$(dirname "$(readlink -f "$0")")
libraries=$root/lib${SPLITCAST_CUDA_LIBRARIES:+:$SPLITCAST_CUDA_LIBRARIES}:${CUDA_HOME:-/usr/local/cuda}/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# From here on, what the program starts uses the machine's libraries again.
exec "$root/lib/ld-linux-x86-64.so.2" --library-path "$libraries" "$root/libexec/$(basename "$0")" "$@"
