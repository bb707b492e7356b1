#!/usr/bin/env bash
# Checks that random graphs and generated faults find defects that Splitcast once had.
#
#   bash scripts/mutations.sh [--seeds COUNT] [--all] [NAME...]
#
# Each patch in tests/property/mutations brings back one defect, and removes the verifier that would now report it, if
# there is one. The script applies each patch (or those that are named) to a copy of the last commit, in a temporary
# directory. It prints a line per patch. It exits 1 unless each defect is found; a patch that no longer applies or
# builds counts as not found.
#
# A patch begins with a description, and with a line that says what finds the defect:
#
#   Level: local   graphs that are compiled down to this level, local or plan: values became silently wrong. The graphs
#                  of seeds 0 to COUNT - 1 (COUNT is 1000 by default) are checked until one fails; with --all, all of
#                  them are, and those that fail are counted
#   Test: LABEL    a test of files, processes or the network, which must pass without the patch and fail with it. What
#                  it draws it draws anew
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
mkdir "$work/graphs"
inCopy() { (cd "$copy" && "$@"); }
bazelInCopy() { inCopy runBazel "--output_base=$work/output" "$1" --jobs="$(jobCount)" "${@:2}" >"$work/log" 2>&1; }
cleanUp() {
  inCopy runBazel "--output_base=$work/output" shutdown >/dev/null 2>&1
  git worktree remove --force "$copy"
  chmod -R u+w "$work" && rm -rf "$work"
}
trap cleanUp EXIT
git worktree add --quiet --detach "$copy" HEAD || exit 1

# Checks that what is to find a defect finds none without it, which costs little where Bazel has built and tested this
# commit before.
declare -A isSound
checkWithout() { # build|test TARGET
  [ -n "${isSound[$2]:-}" ] || bazelInCopy "$@" || return 1
  isSound[$2]=1
}

# Prints the first graph that fails and, with --all, how many fail. Fails if there is none. A process checks ten graphs,
# so that a crash costs few others.
checkGraphs() { # LEVEL
  local mode=() first="" found=0 begin last
  if ! bazelInCopy build "$graphs"; then
    noteBuildFailure
    return 1
  fi
  [ "$1" = plan ] && mode=(plan)
  cp "$copy/bazel-bin/tests/property/check_graph" "$work/check_graph"
  for ((begin = 0; begin < seeds; begin += 10)); do
    last=$((begin + 9 < seeds ? begin + 9 : seeds - 1))
    if ! TEST_TMPDIR=$work/graphs "$work/check_graph" $begin $last "${mode[@]}" >"$work/found" 2>&1; then
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

# Prints which part of the test fails first, with the seed that was said last, and the test's time.
checkTest() { # LABEL
  bazelInCopy test --nocache_test_results --test_output=errors "$1"
  case $? in
  0) echo "NOT FOUND by $1" && return 1 ;;
  3) ;; # the test was built, and it failed or took too long
  *) noteBuildFailure && return 1 ;;
  esac
  awk -v label="$1" '
    match($0, /SEED=[0-9]+|seed [0-9]+/) { seed = substr($0, RSTART, RLENGTH); sub(/.*[= ]/, "", seed) }
    /^\[ RUN      \] / { running = $4 }
    /^\[  FAILED  \] / && !failed { failed = $4; failedSeed = seed }
    /^(FAIL|ERROR): [A-Za-z_]+ \(/ && !failed { failed = $2; failedSeed = seed }
    / (FAILED|TIMEOUT) in [0-9.]+s/ { time = $(NF - 2) " in " $NF }
    END {
      if (!failed) { failed = running ? running : "the test"; failedSeed = seed }
      print "found: " label ", " failed (failedSeed ? ", seed " failedSeed : "") ", " time
    }' "$work/log"
}

noteBuildFailure() { echo "DOES NOT BUILD: $(grep -m1 'error:' "$work/log" || tail -n 1 "$work/log")"; }

graphs=//tests/property:check_graph status=0
for name in "${names[@]}"; do
  patch=$patches/$name.patch
  level=$(sed -n 's/^Level: //p' "$patch") label=$(sed -n 's/^Test: //p' "$patch")
  printf '%-24s ' "$name"
  if [ -n "$label" ]; then what=(test "$label") check=(checkTest "$label")
  else what=(build "$graphs") check=(checkGraphs "$level"); fi
  if ! checkWithout "${what[@]}"; then
    echo "NOT SOUND: without the patch, bazel ${what[*]} fails"
    tail -n 20 "$work/log"
  elif ! inCopy git apply "$patch"; then echo "DOES NOT APPLY"
  elif "${check[@]}"; then
    inCopy git checkout --quiet -- .
    continue
  fi
  status=1
  inCopy git checkout --quiet -- .
done
exit $status
