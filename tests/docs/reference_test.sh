#!/usr/bin/env bash
# Are the pages of docs/reference what the .td files say? reference_test.sh MADE PAGES [--write]: folders of the pages as
# they are made, and as they are checked in. With --write the latter are written anew.
set -euo pipefail
made=$1 pages=$2
if [ "${3:-}" = --write ]; then
  for page in "$made"/*.md; do
    cat "$page" >"$BUILD_WORKSPACE_DIRECTORY/$pages/$(basename "$page")"
  done
  exit 0
fi
failed=0
for page in "$made"/*.md; do
  name=$(basename "$page")
  if ! diff "$page" "$pages/$name"; then
    echo "docs/reference/$name is not what the .td files say; run: bazel run //tests/docs:write_reference" >&2
    failed=1
  fi
  if ! grep -qF "]($name)" "$pages/README.md"; then
    echo "docs/reference/README.md has no link to $name" >&2
    failed=1
  fi
done
for page in "$pages"/*.md; do
  name=$(basename "$page")
  if [ "$name" != README.md ] && [ ! -e "$made/$name" ]; then
    echo "docs/reference/$name is made from no .td file: add it to tests/docs/BUILD, or remove it" >&2
    failed=1
  fi
done
exit "$failed"
