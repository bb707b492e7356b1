#!/usr/bin/env bash
# Sets up, builds, and packs an archive for a machine with GPUs. That machine needs only a driver, CUDA's libraries and
# Python; nothing has to be built there.
#
#   bash scripts/bundle.sh [FILE]      FILE is the archive to write (splitcast.tar.xz)
#
# On that machine, run: tar xf splitcast.tar.xz && python3 splitcast/check.py
# It is an error if the archive is larger than 60 MB.
set -euo pipefail
output=$(realpath -m "${1:-splitcast.tar.xz}")
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

limitMb=60
targets=(//examples/gpt //examples/text_model //examples/classifier //examples/recipe //compiler/tools:splitcast-opt
  //compiler/tools:splitcast-run //compiler/tools:splitcast-kernels //tests/runtime/conformance //benchmarks/device:device_figures)
# These are built only if there is a CUDA toolkit.
cudaTargets=(//compiler/launch:libsplitcast-cuda.so //tests/runtime/host:cuda_kernel_vectors)

bash scripts/setup.sh
if runBazel query //compiler/launch:libsplitcast-cuda.so >/dev/null 2>&1; then
  targets+=("${cudaTargets[@]}")
else
  echo "bundle: no CUDA toolkit was found on this machine; the bundle will run on CPUs only" >&2
fi
runBazel build --jobs="$(jobCount)" "${targets[@]}"
programs=()
for target in "${targets[@]}"; do
  path=${target#//}
  [[ $path == *:* ]] && path=${path/://} || path=$path/${path##*/}
  programs+=("bazel-bin/$path")
done

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
bash scripts/bundle/assemble.sh "$directory/splitcast" scripts/bundle "${programs[@]}"
echo "bundle: compressing $(du -sm "$directory/splitcast" | cut -f1) MB (some minutes)"
python3 scripts/bundle/pack.py "$directory/splitcast" "$output"
bytes=$(stat -c %s "$output")
echo "bundle: $output has $((bytes / 100000 / 10)).$((bytes / 100000 % 10)) MB"
if [ "$bytes" -gt $((limitMb * 1000000)) ]; then
  echo "bundle: error: the limit is $limitMb MB; the largest files in $output are, in MB:" >&2
  du -sm "$directory"/splitcast/lib*/* | sort -rn | head -n 8 >&2
  exit 1
fi
