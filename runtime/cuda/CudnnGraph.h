//===- CudnnGraph.h - Describes a graph of operations to cuDNN ----------------------------------------===//
//
// This wraps cuDNN's graph API (its "backend" descriptors): tensors of four dimensions, operations on them, and the
// engine configurations that cuDNN's heuristics propose. Describing a graph needs no GPU. The heuristics need none
// either, if they are given the properties of a GPU.
//
// Tensors    A Virtual tensor lies between operations and is never in memory. A Memory tensor is given at execution, by
//            its uid, and is aligned to 16 bytes. A Value is one float of the host, and is given likewise.
// Errors     The first error is kept, and later calls do nothing. configurations() returns it.
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

/// Returns OK, or Unavailable with cuDNN's text for its last call in this thread.
absl::Status cudnnStatusOf(cudnnStatus_t status, const char *what);

/// A shared handle of a descriptor of cuDNN, which finish() finalizes. Errors are kept in `status`, which is borrowed.
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

  /// Which of the three tensors a convolution computes.
  enum class ConvolutionMakes { Output, Input, Weight };
  /// How windows lie, down and across.
  struct Windows {
    std::array<int64_t, 2> strides, padding, dilation;
  };

  /// The device that a graph is to run on: that of `handle`, or if that is null, the one that `device` describes.
  struct Target {
    cudnnHandle_t handle = nullptr;
    std::string device = ""; ///< cuDNN's JSON
    /// Whether tensor cores may be used; to these, operands of f32 are tf32.
    bool allowsTensorCores = true;
  };

  CudnnGraph() = default;
  CudnnGraph(const CudnnGraph &) = delete;
  CudnnGraph &operator=(const CudnnGraph &) = delete;

  Tensor tensor(const Extents &extents, const Extents &strides, cudnnDataType_t type, Storage storage);
  /// Returns a Virtual tensor in row-major order.
  Tensor between(const Extents &extents, cudnnDataType_t type = CUDNN_DATA_FLOAT);
  /// Returns a Value.
  Tensor value();
  static Extents rowMajor(const Extents &extents);

  /// Adds result = mode(x, y), computed in f32; extents of 1 are broadcast. The result has the extents of x.
  Tensor pointwise(cudnnPointwiseMode_t mode, const Tensor &x, const Tensor *y = nullptr,
                   cudnnDataType_t type = CUDNN_DATA_FLOAT);
  void pointwiseInto(const Tensor &result, cudnnPointwiseMode_t mode, const Tensor &x, const Tensor *y = nullptr);
  /// Selects x where the number of the row is at least that of the column, and `otherwise` elsewhere.
  Tensor selectCausal(const Tensor &x, const Tensor &otherwise);
  /// Reduces over the columns.
  Tensor reduce(cudnnReduceTensorOp_t mode, const Tensor &x);
  /// Adds result = x y, with sums in f32.
  void matmul(const Tensor &x, const Tensor &y, const Tensor &result);
  /// Gives the same elements other strides.
  void reshape(const Tensor &x, const Tensor &result);
  /// Adds the convolution of an input and a weight to an output, or the gradient of its input or weight, with sums in
  /// f32. The quotient of the input's and the weight's channels is the number of groups.
  void convolution(ConvolutionMakes makes, const Tensor &input, const Tensor &weight, const Tensor &output,
                   const Windows &windows);

  /// Returns ways to run the graph, the best first, without those that cuDNN calls nondeterministic, that round
  /// operands or sums to fewer bits than their types have, or that transform them (FFT, Winograd), so that an infinity
  /// would reach other elements. They must not outlive the graph.
  ///   Errors  Unimplemented: there is no way to run it.
  absl::StatusOr<std::vector<CudnnDescriptor>> configurations(const Target &target);

private:
  CudnnDescriptor make(cudnnBackendDescriptorType_t type) { return {type, status}; }
  CudnnDescriptor finishedGraph(cudnnHandle_t handle);
  /// Asks the heuristics, which for some graphs have nothing in one of the modes.
  std::vector<CudnnDescriptor> proposals(const CudnnDescriptor &graph, cudnnBackendHeurMode_t mode,
                                         const CudnnDescriptor *device);
  absl::StatusOr<bool> keepsNumbers(const CudnnDescriptor &configuration, bool allowsTensorCores);
  void addPointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute, const Tensor &x, const Tensor *y,
                    const Tensor *where, const Tensor &result, int64_t axis = -1);

  absl::Status status;
  std::vector<CudnnDescriptor> operations, parts; ///< parts: descriptors that cuDNN refers to until a plan is made
  int64_t uids = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDNNGRAPH_H
