#!/usr/bin/env bash
# Creates the files of a bundle in a new directory.
#
#   bash assemble.sh DIRECTORY FILES PROGRAM...      FILES is the directory of this script
#
#   bin/PROGRAM        starts libexec/PROGRAM with the bundle's libraries
#   bin/ranks          starts a program as several ranks
#   lib/               all libraries that the programs need, with the C library and its loader, but without CUDA's
#   tests/vectors/     results of ops, computed by NumPy
#   check.py           checks and times everything on a machine with GPUs
set -euo pipefail
bundle=$1 files=$2
shift 2

# LLVM is linked to these for Windows manifests and a static analyzer, which our programs never use. Replacing them by
# stubs saves 57 MB.
stubbed='^(libz3|libxml2)\.so'
unneeded='^(libz3|libxml2|libicu[a-z]*|liblzma)\.so'
cuda='^(libcuda|libcudart|libcublasLt|libcublas|libnccl|libcudnn[a-z_]*)\.so'

# Creates a stub of the library `name`, with the versioned symbols that the library `user` needs from it. A call of any
# of them ends the process.
makeStub() {
  local name=$1 user=$2 versions version scratch
  scratch=$(mktemp -d)
  versions=$(objdump -p "$user" | awk -v name="$name:" '$1 == "required" {inside = $3 == name; next} inside {print $4}')
  for version in $versions; do
    objdump -T "$user" | awk -v version="($version)" '$2 == "*UND*" || $3 == "*UND*" {
      for (i = 1; i < NF; ++i) if ($i == version || "(" $i ")" == version) print $NF}' | sort -u >"$scratch/symbols"
    sed 's/.*/.globl &\n&: ud2/' "$scratch/symbols" >>"$scratch/stub.s"
    { echo "$version {" && sed 's/.*/&;/' "$scratch/symbols" && echo "};"; } >>"$scratch/versions"
  done
  touch "$scratch/stub.s" "$scratch/versions"
  clang-19 -shared -nostdlib -fuse-ld=lld -Wl,-soname,"$name" "$scratch/stub.s" -o "$bundle/lib/$name" \
    ${versions:+-Wl,--version-script="$scratch/versions"}
  rm -r "$scratch"
}

addLibraries() {
  local name path llvm
  llvm=$(ldd "$@" | awk '$1 ~ /^libLLVM/ && !found++ {print $3}')
  ldd "$@" | awk '/=> not found/ {print $1 " -"} /=> \// {print $1 " " $3}' | sort -u | while read -r name path; do
    if [[ $name =~ $cuda ]] || { [[ $name =~ $unneeded ]] && ! [[ $name =~ $stubbed ]]; }; then
      continue
    elif [ "$path" = - ]; then
      echo "bundle: error: a program needs $name, which is not on this machine" >&2
      return 1
    elif [[ $name =~ $stubbed ]]; then
      makeStub "$name" "$llvm"
    else
      cp -L "$path" "$bundle/lib/$name"
    fi
  done
}

mkdir -p "$bundle"/{bin,lib,libexec,tests/vectors}
for program in "$@"; do
  name=$(basename "$program")
  if [[ $name == *.so ]]; then
    cp -L "$program" "$bundle/lib/$name"
  else
    cp -L "$program" "$bundle/libexec/$name"
    ln -s ../start.sh "$bundle/bin/$name"
  fi
  chmod u+w "$bundle"/lib*/"$name"
done
addLibraries "$@"
cp -L /lib64/ld-linux-x86-64.so.2 "$bundle/lib/"
cp -L tests/vectors/vectors.json "$bundle/tests/vectors/"
cp "$files"/{start.sh,check.py} "$bundle/"
cp "$files"/ranks.sh "$bundle/bin/ranks"
chmod +x "$bundle"/{start.sh,bin/ranks}
