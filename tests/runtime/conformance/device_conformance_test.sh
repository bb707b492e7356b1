#!/usr/bin/env bash
# Runs the suites through a device: the host, and CUDA's, on the GPUs where there are any, else played by the CPU.
#   device_conformance_test.sh RANKS.SH CONFORMANCE [BACKEND.so CUDA_ON_CPU.so]
set -euo pipefail
ranks=$1 program=$2
export MASTER_PORT=$((10000 + $$ % 20000)) XDG_CACHE_HOME="$TEST_TMPDIR"
[ $# -lt 3 ] || export SPLITCAST_CUDA_BACKEND="$PWD/$3"

# All tests pass on this many ranks of the device: check RANKS DEVICE [VARIABLE=VALUE...]
check() {
  local output size=$1 device=$2
  shift 2
  output=$(env "$@" sh "$ranks" "$size" "$program" --device="$device" --timeout=60) || { echo "$output"; exit 1; }
  grep -qxE '[1-9][0-9]* passed, 0 failed' <<<"$output" || { echo "$output"; exit 1; }
}

for size in 1 3; do
  check "$size" cpu
done
if [ $# -lt 3 ]; then
  echo "skipped on cuda: no toolkit was found"
elif nvidia-smi -L >/dev/null 2>&1; then
  for size in 1 2 4; do
    check "$size" cuda SPLITCAST_SHARE_GPUS=1 SPLITCAST_NCCL_ROUND_KIB=1024
  done
else
  for size in 1 3 4; do # sums of many rounds, with the shortest chunks
    check "$size" cuda SPLITCAST_CUDA_ON_CPU_DEVICES="$size" SPLITCAST_CUDA_ON_CPU_SEED="$size" LD_PRELOAD="$PWD/$4" \
      SPLITCAST_NCCL_ROUND_KIB=1024
  done
  check 3 cuda SPLITCAST_SHARE_GPUS=1 LD_PRELOAD="$PWD/$4"
fi
