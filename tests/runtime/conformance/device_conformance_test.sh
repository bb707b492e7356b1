#!/usr/bin/env bash
# Runs the suites through a device: the host, and the GPUs where there are any.
#   device_conformance_test.sh RANKS.SH CONFORMANCE [BACKEND.so]
set -euo pipefail
ranks=$1 program=$2
export MASTER_PORT=$((10000 + $$ % 20000)) XDG_CACHE_HOME="$TEST_TMPDIR"
[ $# -lt 3 ] || export SPLITCAST_CUDA_BACKEND="$PWD/$3"

# All tests pass on this many ranks of the device.
check() {
  local output
  output=$(sh "$ranks" "$1" "$program" --device="$2" --timeout=60) || { echo "$output"; exit 1; }
  grep -qxE '[1-9][0-9]* passed, 0 failed' <<<"$output" || { echo "$output"; exit 1; }
}

for size in 1 3; do
  check "$size" cpu
done
if [ $# -eq 3 ] && nvidia-smi -L >/dev/null 2>&1; then
  export SPLITCAST_SHARE_GPUS=1
  for size in 1 2 4; do
    check "$size" cuda
  done
else
  echo "skipped on cuda: no GPU here"
fi
