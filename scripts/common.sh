# Sourced by the other scripts: stands in the project's root, with a HOME, and knows how much work fits the machine.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Bazel keeps its caches under HOME, which a bare CI machine may not set.
if [ -z "${HOME:-}" ]; then
  HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
  [ -w "${HOME:-/nonexistent}" ] || HOME=$(mktemp -d)
  export HOME
fi

# One compilation per core, but no more than memory holds: the largest translation units of MLIR need 1.5 GiB.
jobCount() {
  local cores memoryGib byMemory
  cores=$(nproc)
  memoryGib=$(awk '$1 == "MemAvailable:" {print int($2 / 1048576)}' /proc/meminfo)
  byMemory=$((memoryGib / 2 > 0 ? memoryGib / 2 : 1))
  echo $((cores < byMemory ? cores : byMemory))
}

# Bazel, with BAZEL_STARTUP_OPTIONS (such as --output_base=DIRECTORY) from the environment.
runBazel() {
  # shellcheck disable=SC2086
  command bazel ${BAZEL_STARTUP_OPTIONS:-} "$@" </dev/null
}
