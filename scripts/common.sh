# Sourced by the other scripts. It changes to the project's root, makes sure that HOME is set, and defines functions.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Bazel keeps its caches under HOME, which a bare CI machine may not set.
if [ -z "${HOME:-}" ]; then
  HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
  [ -w "${HOME:-/nonexistent}" ] || HOME=$(mktemp -d)
  export HOME
fi

# Prints how many compilations to run at the same time: one per core, but at most one per 2 GiB of available memory,
# since the largest source files need 1.5 GiB.
jobCount() {
  local cores memoryGib byMemory
  cores=$(nproc)
  memoryGib=$(awk '$1 == "MemAvailable:" {print int($2 / 1048576)}' /proc/meminfo)
  byMemory=$((memoryGib / 2 > 0 ? memoryGib / 2 : 1))
  echo $((cores < byMemory ? cores : byMemory))
}

# Runs Bazel with the startup options in BAZEL_STARTUP_OPTIONS, such as --output_base=DIRECTORY.
runBazel() {
  # shellcheck disable=SC2086
  command bazel ${BAZEL_STARTUP_OPTIONS:-} "$@" </dev/null
}
