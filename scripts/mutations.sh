#!/usr/bin/env bash
# Checks that random graphs find defects that the compiler once had.
#
#   bash scripts/mutations.sh [--seeds COUNT] [--all] [NAME...]
#
# Each patch in tests/property/mutations brings back one defect that made values silently wrong, and removes the
# verifier that would now report it, if there is one. The script applies each patch (or those that are named) to a copy
# of the last commit, in a temporary directory. It then checks the graphs of seeds 0 to COUNT - 1 (COUNT is 1000 by
# default) until one fails; with --all it checks all of them, and counts those that fail. It prints a line per patch. It
# exits 1 unless each defect is found; a patch that no longer applies or builds counts as not found.
#
# A patch begins with a description, and a line "Level: local" or "Level: plan": the level down to which graphs must be
# compiled to show the defect.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
patches=$PWD/tests/property/mutations

seeds=1000 counts=0 names=()
while [ $# -gt 0 ]; do
  case $1 in
  --seeds) seeds=$2 && shift ;;
  --all) counts=1 ;;
  *) names+=("$1") ;;
  esac
  shift
done
if [ ${#names[@]} -eq 0 ]; then
  for patch in "$patches"/*.patch; do names+=("$(basename "$patch" .patch)"); done
fi

work=$(mktemp -d)
copy=$work/copy
export TEST_TMPDIR=$work/graphs
mkdir "$TEST_TMPDIR"
inCopy() { (cd "$copy" && "$@"); }
build() { inCopy runBazel "--output_base=$work/output" build --jobs="$(jobCount)" //tests/property:check_graph >"$work/log" 2>&1; }
cleanUp() {
  inCopy runBazel "--output_base=$work/output" shutdown >/dev/null 2>&1
  git worktree remove --force "$copy"
  chmod -R u+w "$work" && rm -rf "$work"
}
trap cleanUp EXIT
git worktree add --quiet --detach "$copy" HEAD || exit 1
if ! build; then
  tail -n 20 "$work/log"
  exit 1
fi

# Prints the first graph that fails and, with --all, how many fail. Fails if there is none. A process checks ten graphs,
# so that a crash costs few others.
check() { # LEVEL
  local mode=() first="" found=0 begin
  [ "$1" = plan ] && mode=(plan)
  cp "$copy/bazel-bin/tests/property/check_graph" "$work/check_graph"
  for ((begin = 0; begin < seeds; begin += 10)); do
    if ! "$work/check_graph" $begin $((begin + 9 < seeds ? begin + 9 : seeds - 1)) "${mode[@]}" >"$work/found" 2>&1; then
      found=$((found + $(grep -c '^FAILED seed' "$work/found")))
      if ! tail -n 1 "$work/found" | grep -q ' failed$'; then found=$((found + 1)); fi # a crash ends the ten
      [ -n "$first" ] || first=$(grep -oEm1 "^FAILED seed.*|checking the graph of seed.*" "$work/found")
      [ $counts = 1 ] || break
    fi
  done
  if [ $found -eq 0 ]; then
    echo "NOT FOUND by $seeds graphs"
    return 1
  fi
  if [ $counts = 1 ]; then echo "found by $found of $seeds graphs, first: ${first:0:150}"
  else echo "found: ${first:0:150}"; fi
}

status=0
for name in "${names[@]}"; do
  patch=$patches/$name.patch
  printf '%-24s ' "$name"
  if ! inCopy git apply "$patch"; then echo "DOES NOT APPLY"
  elif ! build; then echo "DOES NOT BUILD: $(grep -m1 'error:' "$work/log")"
  elif check "$(sed -n 's/^Level: //p' "$patch")"; then
    inCopy git checkout --quiet -- .
    continue
  fi
  status=1
  inCopy git checkout --quiet -- .
done
exit $status
