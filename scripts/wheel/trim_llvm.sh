#!/usr/bin/env bash
# Replaces libLLVM in a bundle of scripts/bundle/assemble.sh by one that has only what the bundle's files call: Debian's
# has the compilers for 20 kinds of processors. It is linked from the static libraries of the same package.
#
#   bash trim_llvm.sh BUNDLE
set -euo pipefail
bundle=$1
llvm=/usr/lib/llvm-19/lib soname=libLLVM.so.19.1 version=LLVM_19.1

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
objdump -T "$bundle"/lib/*.so* "$bundle"/libexec/* 2>/dev/null |
  awk -v version="($version)" '/\*UND\*/ && ($(NF - 1) == version || "(" $(NF - 1) ")" == version) {print $NF}' |
  sort -u >"$scratch/called"
[ -s "$scratch/called" ] || {
  echo "wheel: error: nothing in $bundle calls $soname, as it should" >&2
  exit 1
}
sed 's/^/-Wl,--undefined=/' "$scratch/called" >"$scratch/options"
{ echo "$version { global:" && sed 's/$/;/' "$scratch/called" && echo "local: *; };"; } >"$scratch/versions"
clang-19 -shared -fuse-ld=lld -o "$scratch/$soname" -Wl,-soname,"$soname" -Wl,--version-script="$scratch/versions" \
  -Wl,--gc-sections -Wl,--strip-all -Wl,--no-undefined -Wl,--as-needed @"$scratch/options" \
  -Wl,--start-group "$llvm"/libLLVM*.a -Wl,--end-group -L"$bundle/lib" -l:libz.so.1 -l:libzstd.so.1 -l:libedit.so.2 \
  -l:libz3.so.4 -l:libxml2.so.2 -l:libffi.so.8 -lstdc++ -lm
objdump -T "$scratch/$soname" | awk '!/\*UND\*/ {print $NF}' | sort -u >"$scratch/defined"
comm -23 "$scratch/called" "$scratch/defined" >"$scratch/missing"
[ ! -s "$scratch/missing" ] || {
  echo "wheel: error: $llvm/libLLVM*.a do not define $(wc -l <"$scratch/missing") symbols, such as $(head -n 1 "$scratch/missing")" >&2
  exit 1
}
mv "$scratch/$soname" "$bundle/lib/"
