#!/usr/bin/env bash
# Installs what Splitcast is built and tested with, from Debian 12's own packages. Does nothing, at once, where nothing is
# missing.
#
#   bash scripts/setup.sh
#
# Exits 0 when all is there, 1 otherwise. SPLITCAST_SKIP_SETUP=1 skips the check, for other systems where the same
# versions were installed by hand.
set -euo pipefail

# What the packages are for, then their names.
groups=(
  "Bazel 4.2.3, which builds everything: bazel-bootstrap bazel-rules-java bazel-rules-proto bazel-platforms"
  "the C++17 compiler and linker: clang-19 lld-19 libstdc++-12-dev"
  "MLIR and LLVM 19, on which the compiler stands: llvm-19-dev llvm-19-tools libmlir-19-dev mlir-19-tools"
  "C++ libraries (Abseil; JSON): libabsl-dev nlohmann-json3-dev"
  "matrix products on the CPU (oneDNN): libdnnl-dev"
  "ranks (OpenMPI): openmpi-bin libopenmpi-dev"
  "the Python package: python3-dev pybind11-dev python3-numpy"
  "tests (GoogleTest): libgtest-dev libgmock-dev"
  "tests under sanitizers: libclang-rt-19-dev"
  "tests that count instructions: valgrind"
  "format and lint checks: clang-format-19 clang-tidy-19 python3"
)

say() { echo "setup: $*"; }
die() {
  echo "setup: error: $1" >&2
  shift
  printf '  %s\n' "$@" >&2
  exit 1
}

listGroups() { printf '%s\n' "${groups[@]}"; }

requireDebian12() {
  local id=unknown version=unknown machine
  machine=$(uname -m)
  if [ -r /etc/os-release ]; then
    id=$(. /etc/os-release && echo "${ID:-unknown}")
    version=$(. /etc/os-release && echo "${VERSION_ID:-unknown}")
  fi
  [ "$id $version $machine" = "debian 12 x86_64" ] && command -v dpkg-query >/dev/null && return
  mapfile -t lines < <(listGroups)
  die "this is $id $version on $machine; set-up knows Debian 12 on x86_64 only" \
    "Run it there (a container will do), or install by hand what Debian 12 calls:" "${lines[@]}" \
    "then set SPLITCAST_SKIP_SETUP=1. third_party/repositories.bzl expects LLVM in /usr/lib/llvm-19."
}

# Prints one line per group that lacks packages, in the form of `groups`.
missingGroups() {
  local installed group purpose package absent
  installed=" $(dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null | awk '$2 == "installed" {print $1}' | tr '\n' ' ') "
  for group in "${groups[@]}"; do
    purpose=${group%: *} absent=""
    for package in ${group##*: }; do
      [[ $installed == *" $package "* ]] || absent+=" $package"
    done
    [ -z "$absent" ] || echo "$purpose:$absent"
  done
}

requireBazelVersion() {
  local version
  version=$(dpkg-query -W -f '${Version}' bazel-bootstrap)
  [[ $version == 4.2.* ]] || die "bazel-bootstrap is $version; the build is written for 4.2" \
    "Install Debian 12's: apt-get install --allow-downgrades bazel-bootstrap/bookworm"
}

# Runs apt-get with output to $log; as root, by sudo where needed.
apt() { "${asRoot[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2 "$@" >>"$log" 2>&1 </dev/null; }

# One attempt. A source of packages that fails to update is no reason to stop: what is needed may be in the others.
attempt() {
  apt update || true
  apt install -y --no-install-recommends "$@"
}

explainFailure() {
  tail -n 5 "$log" >&2
  if grep -qE 'Temporary failure resolving|Could not resolve|Could not connect|Network is unreachable|timed out' "$log"; then
    die "Debian's package server was not reached" "Connect to the network, or name a mirror in /etc/apt/sources.list, then run again." "Log: $log"
  fi
  if grep -qE 'No space left|enough free space' "$log"; then
    die "the disk is full" "Free 3.5 GB, then run again." "Log: $log"
  fi
  die "apt-get failed twice; its last lines are above" "Log: $log"
}

install() {
  asRoot=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "packages are missing, you are not root, and there is no sudo" \
      "As root: apt-get install --no-install-recommends $*"
    asRoot=(sudo)
  fi
  log=$(mktemp "${TMPDIR:-/tmp}/splitcast-setup.XXXXXX")
  if ! attempt "$@"; then
    say "apt-get failed; trying once more in 5 s"
    sleep 5
    attempt "$@" || explainFailure
  fi
  rm -f "$log"
}

reportCuda() {
  if [ -e /usr/local/cuda/include/cuda.h ]; then
    say "CUDA found in /usr/local/cuda (not needed)"
  else
    say "CUDA not found in /usr/local/cuda (not needed)"
  fi
}

main() {
  if [ -n "${SPLITCAST_SKIP_SETUP:-}" ]; then
    say "skipped, as SPLITCAST_SKIP_SETUP asks"
    return
  fi
  requireDebian12
  local missing
  mapfile -t missing < <(missingGroups)
  if [ ${#missing[@]} -eq 0 ]; then
    say "nothing is missing"
  else
    say "missing:"
    printf '  %s\n' "${missing[@]}"
    say "installing with apt-get (on a bare system 520 MB to fetch, 2.6 GB on disk; about a minute)"
    install ${missing[@]##*:}
    mapfile -t missing < <(missingGroups)
    [ ${#missing[@]} -eq 0 ] || die "apt-get reported success, but these are still missing:" "${missing[@]}"
    say "installed in $SECONDS s"
  fi
  requireBazelVersion
  reportCuda
}

main
