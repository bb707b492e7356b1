#!/usr/bin/env bash
# Builds a wheel of the Python package with all libraries that it needs, and with splitcast-opt, splitcast-run and
# splitcast-lsp-server as commands. It is for Python 3.11 on Debian 12 or newer; nothing else has to be installed there.
#
#   bash scripts/wheel.sh [DIRECTORY]      DIRECTORY is where the wheel is written (dist)
#
# To install it, run in a virtual environment: pip install dist/splitcast-*.whl
# It is an error if the wheel is larger than 80 MB.
set -euo pipefail
[ $# -eq 0 ] || output=$(realpath -m "$1")
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
output=${output:-$PWD/dist}

limitMb=80

bash scripts/setup.sh
programs=(splitcast-opt splitcast-run splitcast-lsp-server)
runBazel build --noshow_progress --jobs="$(jobCount)" //compiler/python //compiler/python:stubs \
  "${programs[@]/#///compiler/tools:}"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
bash scripts/bundle/assemble.sh "$directory/bundle" scripts/bundle bazel-bin/compiler/python/splitcast/_splitcast.so \
  "${programs[@]/#/bazel-bin/compiler/tools/}"
bash scripts/wheel/trim_llvm.sh "$directory/bundle"
strip --strip-unneeded "$directory"/bundle/lib/_splitcast.so "$directory"/bundle/libexec/*
wheel=$(python3 scripts/wheel/pack.py bazel-bin/compiler/python/splitcast "$directory/bundle" "$output")
bytes=$(stat -c %s "$wheel")
echo "wheel: $wheel has $((bytes / 100000 / 10)).$((bytes / 100000 % 10)) MB"
[ "$bytes" -le $((limitMb * 1000000)) ] || {
  echo "wheel: error: the limit is $limitMb MB" >&2
  rm "$wheel"
  exit 1
}
