//===- ThreadFunctions.h - Converts gpu.func ops to functions of one thread ----------------===//
#ifndef SPLITCAST_TESTS_GPU_THREADFUNCTIONS_H
#define SPLITCAST_TESTS_GPU_THREADFUNCTIONS_H

#include "runtime/api/Device.h"
#include "runtime/gpu/GpuProgram.h"

#include <map>
#include <string>
#include <vector>

namespace splitcast::gpu_tests {

/// The number of coordinates of a thread: x, y and z of its block, then its own.
inline constexpr int64_t kCoordinates = 6;

struct ThreadFunction {
  std::vector<int64_t> sharedBytes; ///< the size of each memref of workgroup memory
  bool synchronizes = false;        ///< whether it has shuffles or barriers
};

/// Runs kernel `name` of the program with `threads` threads in blocks of `threadsPerBlock`, from the last thread to the
/// first. The kernel must have no shuffles and no barriers. A scalar argument is a buffer, too.
absl::Status runThreads(runtime::GpuProgram &program, const std::string &name, int64_t threads, int64_t threadsPerBlock,
                        std::vector<runtime::Buffer> buffers);

/// Returns a module with a function of one thread per gpu.func of the program. Its arguments are those of the gpu.func
/// (a scalar is a memref of one element), then the workgroup's memory, then a memref<6xi64> with the thread's
/// coordinates. Shuffles and barriers are calls of functions in Fibers.cc.
mlir::OwningOpRef<mlir::ModuleOp> threadFunctions(runtime::GpuProgram &program,
                                                  std::map<std::string, ThreadFunction> &descriptions);

} // namespace splitcast::gpu_tests

#endif // SPLITCAST_TESTS_GPU_THREADFUNCTIONS_H
