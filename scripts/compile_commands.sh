#!/usr/bin/env bash
# Writes compile_commands.json, which tells clangd and clang-tidy how each source is compiled.
#
#   bash scripts/compile_commands.sh [TARGET...]     by default all targets
#
# It also builds the generated headers, without which most sources do not parse, but compiles nothing else.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if ! command -v python3 >/dev/null; then
  echo "compile_commands: error: python3 is missing; run bash scripts/setup.sh" >&2
  exit 1
fi
[ $# -gt 0 ] || set -- //...
query=$(mktemp)
trap 'rm -f "$query"' EXIT

# Only C++ targets are queried, so that an error in a target of another kind does not matter.
mapfile -t targets < <(runBazel query --noshow_progress --keep_going "kind('cc_(library|binary|test) rule', set($*))")
if [ ${#targets[@]} -eq 0 ]; then
  echo "compile_commands: error: no C++ target matches $*" >&2
  exit 1
fi
runBazel build --noshow_progress --keep_going --jobs="$(jobCount)" \
  --output_groups=compilation_prerequisites_INTERNAL_ -- "${targets[@]}" ||
  echo "compile_commands: some headers were not generated; their sources will show errors" >&2
runBazel aquery --noshow_progress --include_artifacts=false --output=jsonproto \
  "mnemonic('CppCompile', set(${targets[*]}))" >"$query"
python3 scripts/compile_commands.py "$query" "$(runBazel info output_base)" "$(runBazel info execution_root)"
