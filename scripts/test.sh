#!/usr/bin/env bash
# Sets up, builds and runs the tests.
#
#   bash scripts/test.sh [--slow | --slow-only | --exhaustive] [--limit-minutes=N] [TARGET...]
#
# By default it runs the fast tests of all targets: those that are not tagged "slow" or "exhaustive". --slow runs the
# slow ones, too, --slow-only only these, and --exhaustive only the exhaustive ones, which take hours. Tests that have
# not passed within the limit have failed, and so have tests that do not build. The last line is 'N passed, N failed',
# where N counts Bazel's test targets. The exit status is 0 only if tests ran and all passed. BAZEL_TEST_OPTIONS may
# have further options of Bazel.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

filter=(--test_tag_filters=-slow,-exhaustive)
limitMinutes=
targets=()
for argument in "$@"; do
  case $argument in
    --slow) filter=(--test_tag_filters=-exhaustive) ;;
    --slow-only) filter=(--test_tag_filters=slow) ;;
    --exhaustive) filter=(--test_tag_filters=exhaustive --test_timeout=36000) ;; # seconds, for each
    --limit-minutes=*) limitMinutes=${argument#*=} ;;
    -*)
      echo "test: error: unknown option '$argument'; options are --slow, --slow-only, --exhaustive, --limit-minutes=N" >&2
      exit 2
      ;;
    *) targets+=("$argument") ;;
  esac
done
if ! [[ $limitMinutes =~ ^([1-9][0-9]*)?$ ]]; then
  echo "test: error: --limit-minutes is '$limitMinutes'; it must be a positive number" >&2
  exit 2
fi
[ ${#targets[@]} -gt 0 ] || targets=(//tests/... //examples/...)

bash scripts/setup.sh
events=$(mktemp)
trap 'rm -f "$events"' EXIT
count=$(jobCount)
[ -t 1 ] && progress=() || progress=(--noshow_progress)
# shellcheck disable=SC2086
options=(--keep_going --build_tests_only --jobs="$count" --local_test_jobs="$count" "${filter[@]}" "${progress[@]}"
  --build_event_json_file="$events" ${BAZEL_TEST_OPTIONS:-})
status=0
# When Bazel is interrupted, it stops the running tests, and still writes its events.
${limitMinutes:+timeout --foreground --signal=INT --kill-after=60 "${limitMinutes}m"} \
  bazel ${BAZEL_STARTUP_OPTIONS:-} test "${options[@]}" -- "${targets[@]}" </dev/null || status=$?
python3 scripts/test_summary.py "$events" "$status"
