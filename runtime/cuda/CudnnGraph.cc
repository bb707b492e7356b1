#include "runtime/cuda/CudnnGraph.h"

#include "runtime/api/StatusMacros.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

#include <optional>

namespace splitcast::runtime {

namespace {

/// The names that cuDNN has for a convolution and each of its gradients.
struct ConvolutionNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t description, input, weight, output, alpha, beta;
};

ConvolutionNames namesOf(CudnnGraph::ConvolutionMakes makes) {
  if (makes == CudnnGraph::ConvolutionMakes::Output)
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  if (makes == CudnnGraph::ConvolutionMakes::Input)
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

} // namespace

absl::Status cudnnStatusOf(cudnnStatus_t status, const char *what) {
  if (status == CUDNN_STATUS_SUCCESS)
    return absl::OkStatus();
  char text[1024] = {};
  cudnnGetLastErrorString(text, sizeof(text));
  return absl::UnavailableError(absl::StrCat("cuDNN (", what, "): ", cudnnGetErrorString(status), ": ", text));
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type, absl::Status &status) : status(&status) {
  cudnnBackendDescriptor_t made = nullptr;
  status.Update(cudnnStatusOf(cudnnBackendCreateDescriptor(type, &made), "creating a descriptor"));
  if (made)
    descriptor = std::shared_ptr<void>(made, [](void *owned) { cudnnBackendDestroyDescriptor(owned); });
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                          const void *values) {
  if (status->ok())
    status->Update(cudnnStatusOf(cudnnBackendSetAttribute(get(), name, type, count, values), "setting an attribute"));
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor &other) {
  cudnnBackendDescriptor_t value = other.get();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, static_cast<const void *>(&value));
}

void CudnnDescriptor::finish(const char *what) {
  if (status->ok())
    status->Update(cudnnStatusOf(cudnnBackendFinalize(get()), what));
}

int64_t CudnnDescriptor::number(cudnnBackendAttributeName_t name) const {
  int64_t count = 0, value = 0;
  if (status->ok())
    status->Update(
        cudnnStatusOf(cudnnBackendGetAttribute(get(), name, CUDNN_TYPE_INT64, 1, &count, &value), "reading a number"));
  return value;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

CudnnGraph::Extents CudnnGraph::rowMajor(const Extents &extents) {
  return {extents[1] * extents[2] * extents[3], extents[2] * extents[3], extents[3], 1};
}

CudnnGraph::Tensor CudnnGraph::tensor(const Extents &extents, const Extents &strides, cudnnDataType_t type,
                                      Storage storage) {
  constexpr int64_t kAlignment = 16;
  Tensor result{make(CUDNN_BACKEND_TENSOR_DESCRIPTOR), extents, ++uids};
  CudnnDescriptor &descriptor = result.descriptor;
  descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, extents.data());
  descriptor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data());
  descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, result.uid);
  descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  descriptor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, storage == Storage::Virtual);
  descriptor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, storage == Storage::Value);
  descriptor.finish("a tensor");
  parts.push_back(descriptor);
  return result;
}

CudnnGraph::Tensor CudnnGraph::between(const Extents &extents, cudnnDataType_t type) {
  return tensor(extents, rowMajor(extents), type, Storage::Virtual);
}

CudnnGraph::Tensor CudnnGraph::value() { return tensor({1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT, Storage::Value); }

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void CudnnGraph::addPointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute, const Tensor &x, const Tensor *y,
                              const Tensor *where, const Tensor &result, int64_t axis) {
  CudnnDescriptor description = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  description.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  description.set(CUDNN_ATTR_POINTWISE_MATH_PREC, compute);
  if (axis >= 0)
    description.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  description.finish("a pointwise operation");
  CudnnDescriptor operation = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, description);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x.descriptor);
  if (y)
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, y->descriptor);
  if (where)
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, where->descriptor);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result.descriptor);
  operation.finish("a pointwise operation");
  parts.push_back(description);
  operations.push_back(operation);
}

CudnnGraph::Tensor CudnnGraph::pointwise(cudnnPointwiseMode_t mode, const Tensor &x, const Tensor *y,
                                         cudnnDataType_t type) {
  Tensor result = between(x.extents, type);
  pointwiseInto(result, mode, x, y);
  return result;
}

void CudnnGraph::pointwiseInto(const Tensor &result, cudnnPointwiseMode_t mode, const Tensor &x, const Tensor *y) {
  addPointwise(mode, CUDNN_DATA_FLOAT, x, y, nullptr, result);
}

CudnnGraph::Tensor CudnnGraph::selectCausal(const Tensor &x, const Tensor &otherwise) {
  Tensor row = between(x.extents, CUDNN_DATA_INT32), column = between(x.extents, CUDNN_DATA_INT32),
         isSeen = between(x.extents, CUDNN_DATA_BOOLEAN), result = between(x.extents);
  addPointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, x, nullptr, nullptr, row, 2);
  addPointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, x, nullptr, nullptr, column, 3);
  addPointwise(CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, row, &column, nullptr, isSeen);
  addPointwise(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, x, &otherwise, &isSeen, result);
  return result;
}

CudnnGraph::Tensor CudnnGraph::reduce(cudnnReduceTensorOp_t mode, const Tensor &x) {
  Extents extents = x.extents;
  extents[3] = 1;
  Tensor result = between(extents);
  CudnnDescriptor description = make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  description.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  description.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode);
  description.finish("a reduction");
  CudnnDescriptor operation = make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, description);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result.descriptor);
  operation.finish("a reduction");
  parts.push_back(description);
  operations.push_back(operation);
  return result;
}

void CudnnGraph::matmul(const Tensor &x, const Tensor &y, const Tensor &result) {
  CudnnDescriptor description = make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  description.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  description.finish("a product");
  CudnnDescriptor operation = make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, description);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, x.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, y.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, result.descriptor);
  operation.finish("a product");
  parts.push_back(description);
  operations.push_back(operation);
}

void CudnnGraph::reshape(const Tensor &x, const Tensor &result) {
  CudnnDescriptor operation = make(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, result.descriptor);
  operation.finish("a reshape");
  operations.push_back(operation);
}

void CudnnGraph::convolution(ConvolutionMakes makes, const Tensor &input, const Tensor &weight, const Tensor &output,
                             const Windows &windows) {
  constexpr int64_t kDimensions = 2;
  constexpr cudnnConvolutionMode_t kMode = CUDNN_CROSS_CORRELATION; // the weight is not mirrored
  CudnnDescriptor description = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  description.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, kDimensions);
  description.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  description.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &kMode);
  for (auto name : {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS})
    description.set(name, CUDNN_TYPE_INT64, kDimensions, windows.padding.data());
  description.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, kDimensions, windows.dilation.data());
  description.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, kDimensions, windows.strides.data());
  description.finish("a convolution");
  parts.push_back(description);
  const ConvolutionNames names = namesOf(makes);
  constexpr double kOne = 1, kZero = 0;
  CudnnDescriptor operation = make(names.operation);
  operation.set(names.description, description);
  operation.set(names.input, input.descriptor);
  operation.set(names.weight, weight.descriptor);
  operation.set(names.output, output.descriptor);
  operation.set(names.alpha, CUDNN_TYPE_DOUBLE, 1, &kOne);
  operation.set(names.beta, CUDNN_TYPE_DOUBLE, 1, &kZero);
  operation.finish("a convolution");
  operations.push_back(operation);
}

//===----------------------------------------------------------------------===//
// Engine configurations
//===----------------------------------------------------------------------===//

absl::StatusOr<bool> CudnnGraph::keepsNumbers(const CudnnDescriptor &configuration, bool allowsTensorCores) {
  CudnnDescriptor engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes;
  int64_t engines = 0, count = 0;
  if (status.ok())
    status = cudnnStatusOf(cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engines,
                                                    static_cast<void *>(&handle)),
                           "reading an engine");
  if (status.ok())
    status = cudnnStatusOf(cudnnBackendGetAttribute(handle, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                                    notes.size(), &count, notes.data()),
                           "reading an engine's numerical notes");
  SPLITCAST_RETURN_IF_ERROR(status);
  return absl::c_all_of(absl::MakeSpan(notes).first(count), [&](cudnnBackendNumericalNote_t note) {
    return note == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP ||
           (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && allowsTensorCores);
  });
}

CudnnDescriptor CudnnGraph::finishedGraph(cudnnHandle_t handle) {
  std::vector<cudnnBackendDescriptor_t> all;
  for (const CudnnDescriptor &operation : operations)
    all.push_back(operation.get());
  CudnnDescriptor graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(all.size()),
            static_cast<const void *>(all.data()));
  if (handle)
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, static_cast<const void *>(&handle));
  graph.finish("the graph");
  parts.push_back(graph);
  return graph;
}

std::vector<CudnnDescriptor> CudnnGraph::proposals(const CudnnDescriptor &graph, cudnnBackendHeurMode_t mode,
                                                   const CudnnDescriptor *device) {
  constexpr int64_t kMost = 64;
  CudnnDescriptor heuristics = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (device)
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device);
  heuristics.finish("heuristics");
  parts.push_back(heuristics);
  std::vector<CudnnDescriptor> results;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int64_t i = 0; i < kMost; ++i) {
    results.push_back(make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    handles.push_back(results.back().get());
  }
  int64_t count = 0;
  if (status.ok())
    status = cudnnStatusOf(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, kMost, &count,
                                                    static_cast<void *>(handles.data())),
                           "asking the heuristics");
  results.erase(results.begin() + (status.ok() ? count : 0), results.end());
  return results;
}

absl::StatusOr<std::vector<CudnnDescriptor>> CudnnGraph::configurations(const Target &target) {
  const CudnnDescriptor graph = finishedGraph(target.handle);
  std::optional<CudnnDescriptor> device;
  if (!target.device.empty()) {
    device = make(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    device->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, static_cast<int64_t>(target.device.size()),
                target.device.data());
    device->finish("a device's properties");
    parts.push_back(*device);
  }
  SPLITCAST_RETURN_IF_ERROR(status);
  std::vector<CudnnDescriptor> found;
  for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    const std::vector<CudnnDescriptor> more = proposals(graph, mode, device ? &*device : nullptr);
    found.insert(found.end(), more.begin(), more.end());
    status = absl::OkStatus(); // a mode may say by an error that it has nothing, as the fallback for attention
  }
  if (found.empty())
    return absl::UnimplementedError("cuDNN has no engine for this graph on this GPU");
  std::vector<CudnnDescriptor> kept;
  for (const CudnnDescriptor &configuration : found) {
    SPLITCAST_ASSIGN_OR_RETURN(bool keeps, keepsNumbers(configuration, target.allowsTensorCores));
    if (keeps)
      kept.push_back(configuration);
  }
  if (kept.empty())
    return absl::UnimplementedError(absl::StrCat("each of the ", found.size(),
                                                 " engine configurations that cuDNN has for this graph on this GPU "
                                                 "may give other bits from run to run, or rounds within sums"));
  return kept;
}

} // namespace splitcast::runtime
