#!/usr/bin/env bash
# Sets up, builds, and trains the GPT example on several ranks. At the end it prints a sample of text from the model.
#
#   bash scripts/train.sh [--ranks=N] [flags of the example]     N is RANKS of the environment, or 2
#   bash scripts/train.sh --ranks=4 --steps=50 --enable-zero=stage=3
#
# It trains on the GNU General Public License, a file that every Debian system has, unless --text=FILE is given.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

ranks=${RANKS:-2}
text=--text=/usr/share/common-licenses/GPL-3
arguments=()
for argument in "$@"; do
  case $argument in
    --ranks=*) ranks=${argument#*=} ;;
    --text | --text=*) text="" arguments+=("$argument") ;;
    *) arguments+=("$argument") ;;
  esac
done
if ! [[ $ranks =~ ^[1-9][0-9]{0,3}$ ]]; then
  echo "train: error: --ranks (or RANKS) is '$ranks'; it must be a number from 1 to 9999" >&2
  exit 2
fi
[ -z "$text" ] || arguments=("$text" "${arguments[@]}")

bash scripts/setup.sh
echo "train: set up after $SECONDS s"
runBazel build --jobs="$(jobCount)" //compiler/tools:splitcast-run //examples/gpt
echo "train: built after $SECONDS s"

mpi=(mpirun -np "$ranks" --oversubscribe --bind-to none)
[ "$(id -u)" -ne 0 ] || mpi+=(--allow-run-as-root)
# If there are more ranks than cores, waiting ranks must yield the processor.
[ "$ranks" -le "$(nproc)" ] || mpi+=(--mca mpi_yield_when_idle 1)
command=("${mpi[@]}" bazel-bin/examples/gpt/gpt "${arguments[@]}")
echo "train: ${command[*]}"
exec "${command[@]}"
