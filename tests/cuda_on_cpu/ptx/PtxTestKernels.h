//===- PtxTestKernels.h - Small kernels for tests ---------------------------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXTESTKERNELS_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXTESTKERNELS_H

#include "tests/cuda_on_cpu/ptx/Ptx.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <deque>
#include <string>
#include <vector>

namespace splitcast::cuda_on_cpu {

/// Memory with some buffers, each of which is an allocation.
class TestMemory : public GlobalMemory {
public:
  /// Adds a buffer with these values, aligned to 16 bytes, and returns it.
  template <class T> T *add(const std::vector<T> &values) {
    const size_t bytes = values.size() * sizeof(T);
    buffers.emplace_back(bytes / sizeof(Unit) + 1);
    auto *data = reinterpret_cast<T *>(buffers.back().data());
    std::copy(values.begin(), values.end(), data);
    const auto begin = reinterpret_cast<uint64_t>(data);
    ranges.push_back({begin, begin + bytes});
    return data;
  }
  Range rangeOf(uint64_t address) const override {
    for (const Range &range : ranges)
      if (address >= range.begin && address < range.end)
        return range;
    return {};
  }

private:
  struct alignas(16) Unit {
    char bytes[16];
  };
  std::deque<std::vector<Unit>> buffers;
  std::vector<Range> ranges;
};

/// Returns the text of a kernel 'k' with `params` parameters of 64 bits, p0, p1, ... It declares some registers. When
/// `body` begins, %rd0, %rd1, ... have the parameters, and %r0 has the thread's number.
inline std::string kernelText(const std::string &body, int params, const std::string &before = "",
                              const std::string &limits = "") {
  std::string text = absl::StrCat(".version 8.0\n.target sm_90\n.address_size 64\n", before, "\n.visible .entry k(");
  for (int param = 0; param < params; ++param)
    absl::StrAppend(&text, param == 0 ? "" : ", ", ".param .u64 p", param);
  absl::StrAppend(&text, ")\n", limits, "\n{\n.reg .pred %p<10>;\n.reg .b16 %rs<10>;\n.reg .b32 %r<20>;\n",
                  ".reg .f32 %f<10>;\n.reg .b64 %rd<20>;\n.reg .f64 %fd<10>;\nmov.u32 %r0, %tid.x;\n");
  for (int param = 0; param < params; ++param)
    absl::StrAppend(&text, "ld.param.u64 %rd", param, ", [p", param, "];\n");
  return absl::StrCat(text, body, "\nret;\n}\n");
}

/// Runs such a kernel with these arguments.
inline absl::Status runKernel(const std::string &text, std::vector<uint64_t> arguments, const GlobalMemory &memory,
                              PtxGrid grid = {{1, 1, 1}, {32, 1, 1}}, PtxChecks checks = PtxChecks()) {
  absl::StatusOr<std::unique_ptr<PtxModule>> module = PtxModule::parse(text);
  if (!module.ok())
    return module.status();
  std::vector<void *> pointers;
  for (uint64_t &argument : arguments)
    pointers.push_back(&argument);
  return (*module)->run("k", grid, pointers.data(), memory, checks);
}

template <class T> uint64_t addressOf(const T *data) { return reinterpret_cast<uint64_t>(data); }

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXTESTKERNELS_H
