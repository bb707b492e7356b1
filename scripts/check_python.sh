#!/usr/bin/env bash
# Checks Python sources as pyproject.toml says: all of them by ruff, and the types of the package splitcast by mypy.
#
#   bash scripts/check_python.sh
#
# The tools are those of the virtual environment of scripts/test_torch.sh, or else those in PATH. mypy needs PyTorch and
# NumPy beside it, and the extension's stub, of `bazel build //compiler/python:stubs`, which this puts into the package's
# folder, for editors, too. A check that lacks any of these is not made, and a line that begins with 'skipped: ' says so.
# Exits 1 if there are findings.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

environment=$HOME/.cache/splitcast/torch
stub=compiler/python/splitcast/_splitcast.pyi
status=0

# Prints the path of a tool, and fails if there is none.
toolAt() {
  if [ -x "$environment/bin/$1" ]; then
    echo "$environment/bin/$1"
  else
    command -v "$1"
  fi
}

if ruff=$(toolAt ruff); then
  "$ruff" check --no-cache . || status=1
else
  echo "skipped: rules of Python sources: there is no ruff; $environment/bin/pip install ruff"
fi

if [ -e "bazel-bin/$stub" ] && ! cmp -s "bazel-bin/$stub" "$stub"; then
  cp -f "bazel-bin/$stub" "$stub"
  chmod u+w "$stub"
fi
if [ ! -e "$stub" ]; then
  echo "skipped: types of the package: there is no bazel-bin/$stub; bazel build //compiler/python:stubs"
elif ! mypy=$(toolAt mypy); then
  echo "skipped: types of the package: there is no mypy; $environment/bin/pip install mypy"
elif ! "$(dirname "$mypy")/python3" -c 'import torch, numpy' 2>/dev/null; then
  echo "skipped: types of the package: $mypy does not find PyTorch and NumPy; bash scripts/test_torch.sh installs them"
else
  "$mypy" --cache-dir="$HOME/.cache/splitcast/mypy" || status=1
fi
exit "$status"
