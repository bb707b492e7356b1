//===- CudnnGraph.h - A graph of operations, described to cuDNN ---------------------------------------===//
//
// cuDNN's graph API (its "backend" descriptors): tensors of four dimensions, operations on them, and what its
// heuristics propose to run them with. What is described needs no GPU; for a named kind of GPU the heuristics need none
// either.
//
// Tensors    Virtual: between operations, nowhere in memory. Memory: given at execution, by its uid, 16 bytes aligned.
//            Value: one float of the host, likewise.
// Errors     The first one is kept, and what is added after it does nothing; configurations() returns it.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDNNGRAPH_H
#define SPLITCAST_RUNTIME_CUDA_CUDNNGRAPH_H

#include "absl/status/statusor.h"
#include "cudnn.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace splitcast::runtime {

/// OK, or what cuDNN says of its last call in this thread. Unavailable.
absl::Status cudnnStatusOf(cudnnStatus_t status, const char *what);

/// Owned; finalized by finish().
class CudnnDescriptor {
public:
  CudnnDescriptor(cudnnBackendDescriptorType_t type, absl::Status &status);

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void *values);
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor &other);
  void set(cudnnBackendAttributeName_t name, int64_t value) { set(name, CUDNN_TYPE_INT64, 1, &value); }
  void set(cudnnBackendAttributeName_t name, bool value) { set(name, CUDNN_TYPE_BOOLEAN, 1, &value); }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) { set(name, CUDNN_TYPE_DATA_TYPE, 1, &value); }
  void finish(const char *what);

  int64_t number(cudnnBackendAttributeName_t name) const;
  cudnnBackendDescriptor_t get() const { return descriptor.get(); }

private:
  std::shared_ptr<void> descriptor;
  absl::Status *status;
};

class CudnnGraph {
public:
  enum class Storage { Virtual, Memory, Value };
  using Extents = std::array<int64_t, 4>;

  struct Tensor {
    CudnnDescriptor descriptor;
    Extents extents;
    int64_t uid;
  };

  CudnnGraph() = default;
  CudnnGraph(const CudnnGraph &) = delete;
  CudnnGraph &operator=(const CudnnGraph &) = delete;

  Tensor tensor(const Extents &extents, const Extents &strides, cudnnDataType_t type, Storage storage);
  /// Between operations, row by row.
  Tensor between(const Extents &extents, cudnnDataType_t type = CUDNN_DATA_FLOAT);
  /// One float of the host.
  Tensor value();
  static Extents rowMajor(const Extents &extents);

  /// result = mode(x, y), in f32; broadcasts extents of 1. The result has the extents of x.
  Tensor pointwise(cudnnPointwiseMode_t mode, const Tensor &x, const Tensor *y = nullptr,
                   cudnnDataType_t type = CUDNN_DATA_FLOAT);
  void pointwiseInto(const Tensor &result, cudnnPointwiseMode_t mode, const Tensor &x, const Tensor *y = nullptr);
  /// Where the row's number is at least the column's, x, else `otherwise`.
  Tensor selectCausal(const Tensor &x, const Tensor &otherwise);
  /// Over the columns.
  Tensor reduce(cudnnReduceTensorOp_t mode, const Tensor &x);
  /// result = x y, sums in f32.
  void matmul(const Tensor &x, const Tensor &y, const Tensor &result);
  /// The same elements by other strides.
  void reshape(const Tensor &x, const Tensor &result);

  /// Ways to run the graph, the best first, without those that cuDNN says are nondeterministic; they may not outlive
  /// it. For the device of `handle`, or, when that is null, for the one that `deviceProperties` (cuDNN's JSON)
  /// describes. Unimplemented: none.
  absl::StatusOr<std::vector<CudnnDescriptor>> configurations(cudnnHandle_t handle,
                                                              const std::string &deviceProperties = "");

private:
  CudnnDescriptor make(cudnnBackendDescriptorType_t type) { return {type, status}; }
  absl::StatusOr<bool> isDeterministic(const CudnnDescriptor &configuration);
  void addPointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute, const Tensor &x, const Tensor *y,
                    const Tensor *where, const Tensor &result, int64_t axis = -1);

  absl::Status status;
  std::vector<CudnnDescriptor> operations, parts; ///< parts: what cuDNN refers to until a plan is made
  int64_t uids = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDNNGRAPH_H
