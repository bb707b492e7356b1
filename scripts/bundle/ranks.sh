#!/bin/sh
# Runs a program as N ranks on this machine, without MPI: bin/ranks N PROGRAM ARGUMENTS...
# The exit status is that of a rank that failed, or 0. MASTER_PORT is 29517 unless it is set.
case ${1:-} in
  '' | *[!0-9]* | 0)
    echo "ranks: error: usage: ranks N PROGRAM ARGUMENTS..." >&2
    exit 2
    ;;
esac
# If a launcher started this shell, its variables would make each process a job of its own.
unset OMPI_COMM_WORLD_SIZE PMI_RANK PMIX_RANK TORCHELASTIC_USE_AGENT_STORE
export WORLD_SIZE="$1" MASTER_ADDR=127.0.0.1 MASTER_PORT="${MASTER_PORT:-29517}"
shift
pids='' rank=0
trap 'kill $pids 2>/dev/null' INT TERM
while [ $rank -lt "$WORLD_SIZE" ]; do
  RANK=$rank "$@" &
  pids="$pids $!" rank=$((rank + 1))
done
status=0
for pid in $pids; do
  wait "$pid" || status=$?
done
exit $status
