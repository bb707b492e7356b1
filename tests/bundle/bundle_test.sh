#!/usr/bin/env bash
# Lays out a bundle of these programs, moves it, and has it check itself where only the base system's commands are found;
# then asks it for what this machine lacks.
set -euo pipefail

bash scripts/bundle/assemble.sh "$TEST_TMPDIR/made/splitcast" scripts/bundle "$@"
mv "$TEST_TMPDIR/made" "$TEST_TMPDIR/elsewhere"
cd "$TEST_TMPDIR"
bundle=elsewhere/splitcast
alone() { env -i PATH=/usr/bin:/bin HOME="$TEST_TMPDIR" MASTER_PORT="$((10000 + $$ % 20000))" "$@"; }
fail() {
  echo "bundle_test: $1" >&2
  exit 1
}

alone python3 "$bundle/check.py" --device=cpu --ranks=3 --steps=4 --json=results.json | tee table
tail -n 1 table | grep -qx '9 passed, 0 failed' || fail "the last line is not '9 passed, 0 failed'"
[ "$(grep -c '^\$ ' results.log)" = 29 ] || fail "results.log has other programs than 29"
[ "$(grep -c '"passed": true' results.json)" = 9 ] || fail "results.json has other results than the table"

# Each library is the bundle's own.
listed=$("$bundle/lib/ld-linux-x86-64.so.2" --library-path "$bundle/lib" --list "$bundle/libexec/gpt")
foreign=$(grep '=> /\|not found' <<<"$listed" || true)
[ -z "$foreign" ] || fail "a library of the machine is used: $foreign"

# A check that finds a difference says so, and ends with 1.
sed 's/^TOLERANCES = .*/TOLERANCES = dict.fromkeys(("f32", "tf32", "bf16", "f16"), -1)/' "$bundle/check.py" >"$bundle/strict.py"
status=0
alone python3 "$bundle/strict.py" --device=cpu --ranks=1 --steps=1 >strict || status=$?
[ "$status" = 1 ] && grep -q '^1 passed, 8 failed$' strict || fail "what is wrong passes: $(cat strict)"

if ! command -v nvidia-smi >/dev/null; then
  status=0
  alone python3 "$bundle/check.py" 2>message || status=$?
  [ "$status" = 1 ] && grep -q 'nvidia-smi shows no GPU, so nothing was run' message || fail "without a GPU: status $status, $(cat message)"
fi
status=0
alone "$bundle/bin/ranks" two "$bundle/bin/gpt" 2>message || status=$?
[ "$status" = 2 ] && grep -q 'usage: ranks N PROGRAM' message || fail "ranks: status $status, $(cat message)"
