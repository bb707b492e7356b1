#!/usr/bin/env bash
# Runs a command in the project's real root: in_workspace.sh COMMAND... Bazel shows a test only the files it declares,
# as links; these checks read all files of the project, wherever a package is added.
set -euo pipefail
root=$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")
if [ ! -e "$root/WORKSPACE" ]; then
  echo "in_workspace: error: $root is not the project's root; run this test with --spawn_strategy=local" >&2
  exit 1
fi
cd "$root"
export PYTHONDONTWRITEBYTECODE=1
exec "$@"
