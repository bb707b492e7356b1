#!/usr/bin/env bash
# Checks Python sources by ruff and mypy; then trains models of PyTorch and transformers with Splitcast on 1, 3 and 4
# ranks, and compares them with eager PyTorch. For this it creates a virtual environment in ~/.cache/splitcast/torch,
# with the versions in tests/python/torch_requirements.txt.
#
#   bash scripts/test_torch.sh [--minutes=N] [--limit-minutes=N]
#
#   --minutes=N          small models alone, as many as fit in that time
#   --limit-minutes=N    the time for all, of which installing leaves --minutes (or 1) and 2 for the rest
#
# The last line is 'N passed, N failed', and the exit status is 0 if none failed. If the environment cannot be created
# (no venv module, no package index, less than 8 GB of space, or more than 30 minutes), it prints 'skipped: ' with the
# reason, and exits 0 without checking anything.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

requirements=$PWD/tests/python/torch_requirements.txt
environment=$HOME/.cache/splitcast/torch
installMinutes=30 needGb=8

options=() minutes=1 limitMinutes=""
for option in "$@"; do
  case $option in
    --minutes=*) minutes=${option#*=} options+=("$option") ;;
    --limit-minutes=*) limitMinutes=${option#*=} ;;
    *) sed -n '6,9p' "$0" >&2 && exit 2 ;;
  esac
done
if [ -n "$limitMinutes" ] && [ $((limitMinutes - minutes - 2)) -lt "$installMinutes" ]; then
  installMinutes=$((limitMinutes - minutes - 2))
fi

skip() {
  echo "skipped: $*"
  exit 0
}

# Creates the environment, or installs what one of other versions lacks.
makeEnvironment() {
  cmp -s "$requirements" "$environment/made" && return
  [ "$installMinutes" -ge 1 ] || skip "$limitMinutes minutes are too few to install PyTorch"
  mkdir -p "$environment"
  if ! "$environment/bin/pip" --version >/dev/null 2>&1; then
    local free
    free=$(df --output=avail -B1000000000 "$environment" | tail -n 1)
    [ "$free" -ge "$needGb" ] || skip "$environment has $free GB of space; PyTorch needs $needGb"
    python3 -m venv --clear "$environment" >/dev/null 2>&1 ||
      skip "python3 -m venv failed; Debian has it in python3-venv"
  fi
  echo "test_torch: installing $(tr '\n' ' ' <"$requirements")into $environment (some minutes)"
  timeout "${installMinutes}m" "$environment/bin/pip" install -q -r "$requirements" ||
    skip "pip could not install them within $installMinutes minutes"
  cp "$requirements" "$environment/made"
}

# Counts check_python.sh, in which nothing may be skipped here: the environment has all that it needs.
passed=0 failed=0
checkSources() {
  local log
  log=$(mktemp)
  if bash scripts/check_python.sh 2>&1 | tee "$log" && ! grep -q '^skipped: ' "$log"; then
    passed=$((passed + 1))
  else
    echo "FAILED: rules and types of Python sources (scripts/check_python.sh)"
    failed=$((failed + 1))
  fi
  rm -f "$log"
}

bash scripts/setup.sh
makeEnvironment
targets=(//compiler/python //compiler/python:stubs)
[ ${#options[@]} -gt 0 ] || targets+=(//tests/examples:training_costs_test)
runBazel build --noshow_progress --jobs="$(jobCount)" "${targets[@]}"
checkSources
root=$PWD log=$(mktemp)
trap 'rm -f "$log"' EXIT
cd bazel-bin # its paths are those of a test's runfiles
PYTHONDONTWRITEBYTECODE=1 "$environment/bin/python" "$root/tests/python/torch_check.py" "${options[@]}" | tee "$log" || true
if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
  passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
else
  echo "test_torch: error: torch_check.py ended without its closing line"
  failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
