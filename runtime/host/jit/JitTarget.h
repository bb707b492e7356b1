//===- JitTarget.h - The CPU that kernels are compiled for -------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_JIT_JITTARGET_H
#define SPLITCAST_RUNTIME_HOST_JIT_JITTARGET_H

#include <string>

namespace splitcast::runtime {

struct JitTarget {
  std::string triple;
  std::string cpu;
  /// "+avx2,-avx512f,...": the features that the CPU has and lacks, whatever its name suggests. avx512bf16 and
  /// avxneconvert are always off, because their rounding to bf16 makes subnormal numbers zero.
  std::string features;
  /// 512 if the CPU has AVX-512 (f, vl, bw and dq), otherwise 256.
  int vectorBits;
  /// Whether additions may be reordered, and multiplications fused with additions, which changes bits. It shows what a
  /// fixed order costs.
  bool anyOrder = false;
};

/// Returns the CPU on which this process runs, as it is found at run time. The first call also initializes LLVM's code
/// generator for it.
const JitTarget &hostTarget();

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_JIT_JITTARGET_H
