#!/usr/bin/env bash
# Builds wheels of the Python package with all libraries that it needs, and with splitcast-opt, splitcast-run and
# splitcast-lsp-server as commands: one for CPython 3.11, that of Debian 12, and one for 3.12 and all newer ones, whose
# extension uses the stable ABI alone. They are for Debian 12 or newer; nothing else has to be installed there.
#
#   bash scripts/wheel.sh [DIRECTORY [KIND...]]      DIRECTORY is where wheels are written (dist); KIND is cp311 or abi3
#
# To install the one that fits, run in a virtual environment: pip install --no-index --find-links=dist splitcast
# It is an error if a wheel is larger than 80 MB.
set -euo pipefail
output="" kinds=(cp311 abi3)
[ $# -eq 0 ] || output=$(realpath -m "$1")
[ $# -le 1 ] || kinds=("${@:2}")
for kind in "${kinds[@]}"; do
  [[ $kind =~ ^(cp311|abi3)$ ]] || {
    echo "wheel: error: there is no kind '$kind'; kinds are cp311 and abi3" >&2
    exit 2
  }
done
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
output=${output:-$PWD/dist}

limitMb=80

bash scripts/setup.sh
programs=(splitcast-opt splitcast-run splitcast-lsp-server)
extension=bazel-bin/compiler/python/splitcast/_splitcast.so
options=(--noshow_progress --jobs="$(jobCount)")
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
extensions=()
if [[ " ${kinds[*]} " == *" abi3 "* ]]; then
  headers=$(bash scripts/wheel/stable_python.sh)
  runBazel build "${options[@]}" --repo_env=SPLITCAST_STABLE_PYTHON="$headers" //compiler/python
  cp -L "$extension" "$directory/_splitcast.abi3.so"
  extensions+=("$directory/_splitcast.abi3.so")
fi
runBazel build "${options[@]}" //compiler/python //compiler/python:stubs "${programs[@]/#///compiler/tools:}"
bash scripts/bundle/assemble.sh "$directory/bundle" scripts/bundle "$extension" "${extensions[@]}" \
  "${programs[@]/#/bazel-bin/compiler/tools/}"
bash scripts/wheel/trim_llvm.sh "$directory/bundle"
strip --strip-unneeded "$directory"/bundle/lib/_splitcast*.so "$directory"/bundle/libexec/*
# For what inspects a wheel: splitcast/_libraries.py loads the libraries before. Unlike a RUNPATH, an RPATH is also that
# of the libraries.
patchelf --force-rpath --set-rpath '$ORIGIN/lib' "$directory"/bundle/lib/_splitcast*.so
patchelf --force-rpath --set-rpath '$ORIGIN/../lib' "$directory"/bundle/libexec/*
for kind in "${kinds[@]}"; do
  wheel=$(python3 scripts/wheel/pack.py bazel-bin/compiler/python/splitcast "$directory/bundle" "$kind" "$output")
  bytes=$(stat -c %s "$wheel")
  echo "wheel: $wheel has $((bytes / 100000 / 10)).$((bytes / 100000 % 10)) MB"
  [ "$bytes" -le $((limitMb * 1000000)) ] || {
    echo "wheel: error: the limit is $limitMb MB" >&2
    rm "$wheel"
    exit 1
  }
done
