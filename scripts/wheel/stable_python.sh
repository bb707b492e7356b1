#!/usr/bin/env bash
# Prints a folder with the headers of Debian 13's CPython, with which an extension of the stable ABI is compiled: those
# of Debian 12's 3.11 are too old for it. Nothing is installed: apt-get, with lists of its own, downloads the package
# from the mirror that this system has Debian 12 from, checks Debian's signature, and the headers are kept in HOME.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

release=trixie version=3.13
headers=$HOME/.cache/splitcast/python$version
if [ ! -e "$headers/Python.h" ]; then
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  mapfile -t mirrors < <(
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Origin: Debian'
  )
  mkdir -p "$scratch"/lists/partial "$scratch"/cache/archives/partial
  keys=/usr/share/keyrings/debian-archive-keyring.gpg
  echo "deb [signed-by=$keys] ${mirrors[0]:-} $release main" >"$scratch/sources"
  own=(-o Dir::Etc::SourceList="$scratch/sources" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$scratch/lists"
    -o Dir::Cache="$scratch/cache" -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=2)
  echo "wheel: downloading the headers of Python $version from Debian 13" >&2
  (cd "$scratch" && apt-get -q "${own[@]}" update && apt-get -q "${own[@]}" download "libpython$version-dev") \
    >"$scratch/log" 2>&1 || {
    tail -n 5 "$scratch/log" >&2
    echo "wheel: error: apt-get could not download libpython$version-dev of Debian 13" >&2
    exit 1
  }
  dpkg-deb -x "$scratch"/libpython*.deb "$scratch/files"
  files=$scratch/files/usr/include
  cp "$files/x86_64-linux-gnu/python$version/pyconfig.h" "$files/python$version/" # in place of one that includes it
  mkdir -p "$(dirname "$headers")"
  rm -rf "$headers"
  mv "$files/python$version" "$headers"
fi
echo "$headers"
