#!/bin/bash
# lit.sh SPLITCAST_OPT TEST...: runs the tests by the lit of Debian's llvm-19-tools.
set -euo pipefail
LIT=/usr/lib/llvm-19/build/utils/lit/lit.py
if [ ! -e "$LIT" ]; then
  echo "lit.sh: error: $LIT does not exist; Debian's llvm-19-tools has it" >&2
  exit 1
fi
unset "${!LIT_@}" # options of whoever runs the tests
PYTHONDONTWRITEBYTECODE=1 exec python3 "$LIT" -v -j1 --param "splitcast_opt=$1" "${@:2}"
