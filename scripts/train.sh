#!/usr/bin/env bash
# Sets up, builds, and trains the example GPT across ranks; it ends with a sample of what it learned to write.
#
#   bash scripts/train.sh [--ranks=N] [arguments of the example]     N is 2, or what RANKS says
#   bash scripts/train.sh --ranks=4 --steps=50 --enable-zero=stage=3
#
# The text is the GNU General Public License, a file of every Debian system, unless --text=FILE names another.
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
# Ranks that outnumber the cores must give way while they wait.
[ "$ranks" -le "$(nproc)" ] || mpi+=(--mca mpi_yield_when_idle 1)
command=("${mpi[@]}" bazel-bin/examples/gpt/gpt "${arguments[@]}")
echo "train: ${command[*]}"
exec "${command[@]}"
