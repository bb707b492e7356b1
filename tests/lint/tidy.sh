#!/usr/bin/env bash
# Runs clang-tidy on one source: tidy.sh REPORT CONFIG SOURCE FLAG... The report is empty when there is no finding; what
# could not be parsed is a finding too.
report=$1 config=$2 source=$3
shift 3
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
clang-tidy-19 --quiet --config-file="$config" "$source" -- "$@" 2>"$errors" | sed "s|^$PWD/||; s|^\./||" >"$report"
status=${PIPESTATUS[0]}
if [ "$status" -ne 0 ] && [ ! -s "$report" ]; then
  { echo "$source:1:1: error: clang-tidy-19 exited with $status"; cat "$errors"; } >"$report"
fi
exit 0
