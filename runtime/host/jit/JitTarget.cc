#include "runtime/host/jit/JitTarget.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <vector>

namespace splitcast::runtime {
namespace {

JitTarget detectHost() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::StringMap<bool> has = llvm::sys::getHostCPUFeatures();
  for (const char *flushing : {"avx512bf16", "avxneconvert"}) // their rounding to bf16 flushes subnormals to zero
    has[flushing] = false;
  std::vector<std::string> flags;
  for (const auto &feature : has)
    flags.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(flags.begin(), flags.end());

  JitTarget target;
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  for (const std::string &flag : flags)
    target.features += (target.features.empty() ? "" : ",") + flag;
  bool wide = has.lookup("avx512f") && has.lookup("avx512vl") && has.lookup("avx512bw") && has.lookup("avx512dq");
  target.vectorBits = wide ? 512 : 256;
  return target;
}

} // namespace

const JitTarget &hostTarget() {
  static const JitTarget target = detectHost();
  return target;
}

} // namespace splitcast::runtime
