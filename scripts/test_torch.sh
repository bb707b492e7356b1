#!/usr/bin/env bash
# Trains models of PyTorch and transformers with Splitcast on 1, 3 and 4 ranks, and compares them with eager PyTorch.
# For this it creates a virtual environment in ~/.cache/splitcast/torch, with the versions in
# tests/python/torch_requirements.txt.
#
#   bash scripts/test_torch.sh [--minutes=N]
#
# With --minutes it runs small models alone, as many as fit in that time.
#
# The last line is 'N passed, N failed', and the exit status is 0 if none failed. If the environment cannot be created
# (no venv module, no package index, less than 8 GB of space, or more than 30 minutes), it prints 'skipped: ' with the
# reason, and exits 0 without checking anything.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

requirements=$PWD/tests/python/torch_requirements.txt
environment=$HOME/.cache/splitcast/torch
limitMinutes=30 needGb=8

skip() {
  echo "skipped: $*"
  exit 0
}

makeEnvironment() {
  cmp -s "$requirements" "$environment/made" && return
  mkdir -p "$environment"
  local free
  free=$(df --output=avail -B1000000000 "$environment" | tail -n 1)
  [ "$free" -ge "$needGb" ] || skip "$environment has $free GB of space; PyTorch needs $needGb"
  python3 -m venv --clear "$environment" >/dev/null 2>&1 || skip "python3 -m venv failed; Debian has it in python3-venv"
  echo "test_torch: installing $(tr '\n' ' ' <"$requirements")into $environment (some minutes)"
  timeout "${limitMinutes}m" "$environment/bin/pip" install -q -r "$requirements" ||
    skip "pip could not install them within $limitMinutes minutes"
  cp "$requirements" "$environment/made"
}

bash scripts/setup.sh
makeEnvironment
targets=(//compiler/python)
[ $# -gt 0 ] || targets+=(//tests/examples:training_costs_test)
runBazel build --noshow_progress --jobs="$(jobCount)" "${targets[@]}"
root=$PWD
cd bazel-bin # its paths are those of a test's runfiles
PYTHONDONTWRITEBYTECODE=1 "$environment/bin/python" "$root/tests/python/torch_check.py" "$@"
