//===- ThreadFunctions.h - From gpu.func to a function of one thread -----------------------===//
#ifndef SPLITCAST_TESTS_GPU_THREADFUNCTIONS_H
#define SPLITCAST_TESTS_GPU_THREADFUNCTIONS_H

#include "runtime/api/Device.h"
#include "runtime/gpu/GpuProgram.h"

#include <map>
#include <string>
#include <vector>

namespace splitcast::gpu_tests {

/// Where a thread is: block x, y, z, then thread x, y, z.
inline constexpr int64_t kCoordinates = 6;

struct ThreadFunction {
  std::vector<int64_t> sharedBytes; ///< of each memref of workgroup memory
  bool synchronizes = false;        ///< has shuffles or barriers
};

/// Runs kernel `name` of the program, which neither shuffles nor has barriers, as `threads` threads in blocks of
/// `threadsPerBlock`, from the last to the first. Scalars among `buffers` lie in memory.
absl::Status runThreads(runtime::GpuProgram &program, const std::string &name, int64_t threads, int64_t threadsPerBlock,
                        std::vector<runtime::Buffer> buffers);

/// A module of functions of one thread, one per gpu.func of the program: the same arguments (a scalar as a memref
/// of one), then the workgroup's
/// memory, then memref<6xi64> with its coordinates. Shuffles and barriers are calls of what Fibers.cc holds.
mlir::OwningOpRef<mlir::ModuleOp> threadFunctions(runtime::GpuProgram &program,
                                                  std::map<std::string, ThreadFunction> &descriptions);

} // namespace splitcast::gpu_tests

#endif // SPLITCAST_TESTS_GPU_THREADFUNCTIONS_H
