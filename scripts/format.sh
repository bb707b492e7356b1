#!/usr/bin/env bash
# Formats C++ sources with clang-format 19 and the project's .clang-format.
#
#   bash scripts/format.sh [--check] [FILE...]     by default all .h and .cc files of the project
#
# --check changes nothing. It prints the first place of each file that would change, and exits 1 if there is any.
set -euo pipefail
check=
if [ "${1:-}" = --check ]; then
  check=1
  shift
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if ! command -v clang-format-19 >/dev/null; then
  echo "format: error: clang-format-19 is missing; run bash scripts/setup.sh" >&2
  exit 1
fi
if [ $# -eq 0 ]; then
  mapfile -t files < <(python3 "$root/tests/lint/sources.py" "$root" .h .cc)
  set -- "${files[@]/#/$root/}"
fi
if [ $# -eq 0 ]; then
  echo "format: error: no source was found under $root" >&2
  exit 1
fi

for file in "$@"; do
  case $file in
  *.h | *.cc) ;;
  *)
    echo "format: error: '$file' is not a C++ source (.h or .cc); nothing was changed" >&2
    exit 1
    ;;
  esac
done

if [ -z "$check" ]; then
  printf '%s\0' "$@" | xargs -0 -n 16 -P "$(nproc)" clang-format-19 --style="file:$root/.clang-format" -i
  exit
fi

# Prints the first place of a file that is not formatted, and fails if there is one.
checkFile() {
  local findings
  findings=$(clang-format-19 --style="file:$style" --dry-run -Werror "$1" 2>&1) && return
  [ -r "$1" ] || findings="$1: not a readable file"
  head -n 1 <<<"$findings"
  return 1
}
export -f checkFile
export style=$root/.clang-format
if printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" bash -c 'checkFile "$1"' -; then
  echo "format: $# files are formatted"
else
  echo "format: run bash scripts/format.sh" >&2
  exit 1
fi
