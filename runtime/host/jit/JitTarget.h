//===- JitTarget.h - The CPU that kernels are compiled for -------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_JIT_JITTARGET_H
#define SPLITCAST_RUNTIME_HOST_JIT_JITTARGET_H

#include <string>

namespace splitcast::runtime {

struct JitTarget {
  std::string triple;
  std::string cpu;
  /// "+avx2,-avx512f,...": what this CPU has and has not, whatever its name says.
  std::string features;
  /// 512 where the CPU has AVX-512, else 256.
  int vectorBits;
  /// Sums may be added up in any order, and products be joined with sums: bits are others then. To see what a fixed
  /// order costs.
  bool anyOrder = false;
};

/// The CPU this process runs on, asked at run time. Makes LLVM's code generator for it ready.
const JitTarget &hostTarget();

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_JIT_JITTARGET_H
