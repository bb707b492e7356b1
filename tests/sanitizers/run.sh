#!/usr/bin/env bash
# Runs a test under the sanitizer it was built with: what .bazelrc's configurations asan, ubsan and tsan put before the
# test's command. mpirun hands these variables on to its ranks.
here=$(dirname "$(readlink -f "$0")")
export PATH=$PATH:/usr/lib/llvm-19/bin # llvm-symbolizer
# LLVM's headers poison memory that Debian's libraries, which are not instrumented, hand out again.
export ASAN_OPTIONS=allow_user_poisoning=0:detect_stack_use_after_return=1:fast_unwind_on_malloc=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export LSAN_OPTIONS=suppressions=$here/leaks.supp:print_suppressions=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}
export UBSAN_OPTIONS=print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}
# What LLVM and MPI do under their own atomics looks like a race from outside.
export TSAN_OPTIONS=ignore_noninstrumented_modules=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}
exec "$@"
