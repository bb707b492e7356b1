#!/bin/bash
# The program given is all suites with no backend: it must fail, and say why.
if output=$("$1" 2>&1); then
  echo "passed with no backend: $output"
  exit 1
fi
[[ "$output" == *"nothing to run: 0 backends"* ]] || { echo "no reason in: $output"; exit 1; }
