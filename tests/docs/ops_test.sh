#!/usr/bin/env bash
# ops_test.sh OP_TABLE FILE.mlir [--write]: is docs/ops.md what the code says of the ops in the file? Or writes it anew.
set -euo pipefail
table=$1 ops=$2
made=$(
  cat <<'HEAD'
# The ops that compute

Made from the code by `bazel run //tests/docs:write_ops`; a test compares. One instance per op, over an axis of two
ranks: each line of *signatures* is a legal row, operands first (S split along a dimension, B broadcast, P partial
sums). On several axes each axis has a row of its own. `slots of a bucket`: the op may run on a piece of a bucket's flat
bytes. Integers are divided towards zero; divided by 0 they give 0, and the least one by -1 gives itself.

HEAD
  "$table" "$ops"
)
if [ "${3:-}" = --write ]; then
  printf '%s\n' "$made" >"$BUILD_WORKSPACE_DIRECTORY/docs/ops.md"
elif ! diff <(printf '%s\n' "$made") docs/ops.md; then
  echo "docs/ops.md is not what the code says; run: bazel run //tests/docs:write_ops" >&2
  exit 1
fi
