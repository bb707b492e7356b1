#!/usr/bin/env bash
# Installs the Debian 12 packages with which Splitcast is built and tested, and two of Debian 13 (`newer` below). If
# none is missing, it does nothing.
#
#   bash scripts/setup.sh [--check]      --check: installs nothing, but says what is missing
#
# It exits 0 if all packages are installed, else 1. With SPLITCAST_SKIP_SETUP=1 it does nothing: set this on other
# systems, after installing the same versions by hand.
set -euo pipefail

# Each group is what the packages are for, and their names.
groups=(
  "Bazel 4.2.3, which builds everything: bazel-bootstrap bazel-rules-java bazel-rules-proto bazel-platforms"
  "the C++17 compiler and linker: clang-19 lld-19 libstdc++-12-dev"
  "MLIR and LLVM 19, on which the compiler is built: llvm-19-dev llvm-19-tools libmlir-19-dev mlir-19-tools"
  "C++ libraries (Abseil; JSON): libabsl-dev nlohmann-json3-dev"
  "matrix products on the CPU (oneDNN): libdnnl-dev"
  "ranks (OpenMPI): openmpi-bin libopenmpi-dev"
  "proofs that ranks know their job's secret (OpenSSL): libssl-dev"
  "the Python package: python3-dev nanobind-dev robin-map-dev python3-numpy"
  "wheels, whose files say where their libraries are: patchelf"
  "tests (GoogleTest): libgtest-dev libgmock-dev"
  "tests under sanitizers: libclang-rt-19-dev"
  "tests that count instructions: valgrind"
  "format and lint checks: clang-format-19 clang-tidy-19 python3"
)

# The packages above that are of Debian 13, since Debian 12 lacks them or has older ones: name, version, folder on each
# of Debian's mirrors, and SHA256. They are headers and sources for all architectures, and need nothing else of it.
newer=(
  "nanobind-dev 2.5.0-1 pool/main/n/nanobind 675ed0440a84902cd4e03730ff714a9f683e39e6fa1dbf17b90a67ca86ea2e7c"
  "robin-map-dev 1.3.0-1 pool/main/r/robin-map 95e6e526c184fd0b7e3293d72a5e5cdb909e7494a0b7ae20082ffc734badfbbd"
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
  die "this system is $id $version on $machine, and this script supports only Debian 12 on x86_64" \
    "Use that system (a container suffices), or install by hand what these packages of Debian 12 have:" "${lines[@]}" \
    "Of Debian 13 are: ${newer[*]%% pool/*}" \
    "and set SPLITCAST_SKIP_SETUP=1. third_party/repositories.bzl expects LLVM in /usr/lib/llvm-19."
}

# Prints the names of those of `newer` of which an older version is installed.
outdated() {
  local each name version
  for each in "${newer[@]}"; do
    read -r name version _ <<<"$each"
    dpkg --compare-versions "$(dpkg-query -W -f '${Version}' "$name" 2>/dev/null || true)" ge "$version" || echo "$name"
  done
}

# Prints a line for each group with missing packages, in the format of `groups`, with the missing ones only.
missingGroups() {
  local installed group purpose package absent old
  installed=" $(dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null | awk '$2 == "installed" {print $1}' | tr '\n' ' ') "
  for old in $(outdated); do
    installed=${installed/ $old / }
  done
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
    "Install that of Debian 12: apt-get install --allow-downgrades bazel-bootstrap/bookworm"
}

# Runs apt-get as root, with sudo if needed. Its output goes to $log.
apt() { "${asRoot[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2 "$@" >>"$log" 2>&1 </dev/null; }

# Prints what apt-get installs as a package: its name, or of one of `newer` the path of its file, which is downloaded
# from the mirror that this system has Debian 12 from.
installable() {
  local each name version folder sum file mirrors
  for each in "${newer[@]}"; do
    read -r name version folder sum <<<"$each"
    [ "$name" = "$1" ] || continue
    mapfile -t mirrors < <(
      apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Origin: Debian'
    )
    file=${name}_${version}_all.deb
    say "$name $version is of Debian 13, since Debian 12 has none as new" >&2
    /usr/lib/apt/apt-helper -o Acquire::Retries=2 download-file "${mirrors[0]%/}/$folder/$file" \
      "$downloads/$file" "SHA256:$sum" >>"$log" 2>&1 || return 1
    echo "$downloads/$file"
    return
  done
  echo "$1"
}

# Tries once to install packages. If a package source fails to update, it continues: the others may have all packages.
attempt() {
  local package found packages=()
  apt update || true
  for package in "$@"; do
    found=$(installable "$package") || return 1
    packages+=("$found")
  done
  apt install -y --no-install-recommends "${packages[@]}"
}

explainFailure() {
  tail -n 5 "$log" >&2
  if grep -qE 'Temporary failure resolving|Could not resolve|Could not connect|Network is unreachable|timed out' "$log"; then
    die "Debian's package server could not be reached" \
      "Connect to the network or set a mirror in /etc/apt/sources.list, and run this script again." "Log: $log"
  fi
  if grep -qE 'No space left|enough free space' "$log"; then
    die "the disk is full" "Free 3.5 GB, and run this script again." "Log: $log"
  fi
  die "apt-get failed twice; its last lines are above" "Log: $log"
}

install() {
  asRoot=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "packages are missing, you are not root, and there is no sudo" \
      "Run as root: apt-get install --no-install-recommends $*"
    asRoot=(sudo)
  fi
  log=$(mktemp "${TMPDIR:-/tmp}/splitcast-setup.XXXXXX") downloads=$(mktemp -d)
  chmod a+rx "$downloads" # apt-get reads it as another user
  if ! attempt "$@"; then
    say "apt-get failed; trying once more in 5 s"
    sleep 5
    attempt "$@" || explainFailure
  fi
  rm -rf "$log" "$downloads"
}

reportCuda() {
  if [ -e /usr/local/cuda/include/cuda.h ]; then
    say "CUDA was found in /usr/local/cuda (it is optional)"
  else
    say "CUDA was not found in /usr/local/cuda (it is optional)"
  fi
}

main() {
  if [ -n "${SPLITCAST_SKIP_SETUP:-}" ]; then
    say "skipped, because SPLITCAST_SKIP_SETUP is set"
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
    [ "${1:-}" != --check ] || exit 1
    say "installing with apt-get (at most 520 MB to download and 2.6 GB on disk; about a minute)"
    install ${missing[@]##*:}
    mapfile -t missing < <(missingGroups)
    [ ${#missing[@]} -eq 0 ] || die "apt-get reported success, but these are still missing:" "${missing[@]}"
    say "installed in $SECONDS s"
  fi
  requireBazelVersion
  reportCuda
}

main "$@"
