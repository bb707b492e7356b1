#!/usr/bin/env bash
# Runs a program that asks cuDNN's heuristics, on a machine without a driver: the toolkit's own stand-in for the driver's
# library is enough for them.
#
#   bash cudnn_test.sh PROGRAM
set -euo pipefail
home=${CUDA_HOME:-${CUDA_PATH:-/usr/local/cuda}}
if ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
  scratch=$(mktemp -d)
  trap 'rm -r "$scratch"' EXIT
  ln -s "$home/lib64/stubs/libcuda.so" "$scratch/libcuda.so.1"
  export LD_LIBRARY_PATH=$scratch${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
"$1"
