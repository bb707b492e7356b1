//===- Cudnn.cc - cuDNN's graphs of operations, op by op
//------------------------------------------------------------===//
//
// A descriptor is a table of attributes. A plan keeps the operations in their order; each is computed on whole tensors
// in f32, and rounded to the type of its result, virtual ones too. What the project's graphs do not use is refused.
// Several ways to run a convolution are proposed, of which the caller must leave out some (Way).
//
//===----------------------------------------------------------------------===//
#include "tests/cuda_on_cpu/Halves.h"
#include "tests/cuda_on_cpu/Memory.h"
#include "tests/cuda_on_cpu/Runtime.h"

#include "absl/strings/str_cat.h"
#include "cudnn.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace splitcast::cuda_on_cpu {
namespace {

using Extents = std::array<int64_t, 4>;

class OperationGraph;

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool isFinal = false;
  std::map<cudnnBackendAttributeName_t, std::string> attributes;
  std::shared_ptr<const OperationGraph> program = nullptr; ///< of a plan that is final: it outlives what it was made of
  int64_t way = 0;                                         ///< of a plan, too

  template <typename T> std::vector<T> all(cudnnBackendAttributeName_t name) const {
    auto found = attributes.find(name);
    std::vector<T> values(found == attributes.end() ? 0 : found->second.size() / sizeof(T));
    if (!values.empty())
      std::memcpy(values.data(), found->second.data(), found->second.size());
    return values;
  }
  template <typename T> T one(cudnnBackendAttributeName_t name, T otherwise = {}) const {
    auto found = attributes.find(name);
    if (found != attributes.end() && found->second.size() >= sizeof(T))
      std::memcpy(&otherwise, found->second.data(), sizeof(T));
    return otherwise;
  }
  const Descriptor *part(cudnnBackendAttributeName_t name) const { return one<const Descriptor *>(name); }
};

size_t bytesOf(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_BOOLEAN:
    return sizeof(bool);
  case CUDNN_TYPE_CHAR:
    return sizeof(char);
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return sizeof(int64_t);
  default:
    return sizeof(int); // the enumerations
  }
}

struct TensorInfo {
  int64_t uid = 0;
  Extents extents = {}, strides = {};
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool isVirtual = false, isValue = false;

  static TensorInfo of(const Descriptor *from) {
    TensorInfo info;
    if (!from)
      return info;
    info.uid = from->one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    std::vector<int64_t> extents = from->all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
                         strides = from->all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
    std::copy_n(extents.begin(), 4, info.extents.begin());
    std::copy_n(strides.begin(), 4, info.strides.begin());
    info.type = from->one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    info.isVirtual = from->one<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    info.isValue = from->one<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
    return info;
  }

  /// Where an element lies; extents of 1 are broadcast.
  int64_t offset(const Extents &at) const {
    int64_t result = 0;
    for (int d = 0; d < 4; ++d)
      result += extents[d] == 1 ? 0 : at[d] * strides[d];
    return result;
  }
  int64_t lastOffset() const { return offset({extents[0] - 1, extents[1] - 1, extents[2] - 1, extents[3] - 1}); }
  int64_t elementBytes() const { return type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16 ? 2 : 4; }
  float rounded(float value) const {
    if (type == CUDNN_DATA_HALF)
      return fromHalf(toHalf(value));
    return type == CUDNN_DATA_BFLOAT16 ? fromBrain(toBrain(value)) : value;
  }
};

template <typename Visit> void forEach(const Extents &extents, Visit visit) {
  Extents at = {};
  for (at[0] = 0; at[0] < extents[0]; ++at[0])
    for (at[1] = 0; at[1] < extents[1]; ++at[1])
      for (at[2] = 0; at[2] < extents[2]; ++at[2])
        for (at[3] = 0; at[3] < extents[3]; ++at[3])
          visit(at);
}

/// The operands and the result of a convolution among its three tensors.
struct ConvolutionNames {
  cudnnBackendAttributeName_t description, x, y, result;
  bool makesOutput, makesInput;
};

std::optional<ConvolutionNames> convolutionOf(cudnnBackendDescriptorType_t kind) {
  switch (kind) {
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    return ConvolutionNames{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                            true,
                            false};
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    return ConvolutionNames{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                            false,
                            true};
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    return ConvolutionNames{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                            false,
                            false};
  default:
    return std::nullopt;
  }
}

struct Operation {
  cudnnBackendDescriptorType_t kind;
  int mode = 0; ///< of a pointwise operation or a reduction
  int64_t axis = -1;
  TensorInfo x, y, where, result;
  std::array<int64_t, 2> strides = {}, padding = {}, dilation = {}; ///< of a convolution
};

/// What is proposed for a graph, in this order. Attention has only TensorCores.
enum class Way : int64_t {
  Winograd,    ///< of convolutions, and not to be chosen, like the next two
  Narrowed,    ///< with operands of fewer bits
  Cut,         ///< with sums of fewer bits
  Large,       ///< like TensorCores, with more workspace than a plan gives
  TensorCores, ///< operands of f32 are rounded to tf32
  Plain
};

float tf32Of(float value) {
  constexpr uint32_t kLost = (1U << 13) - 1;
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = (bits + kLost / 2 + ((bits >> 13) & 1)) & ~kLost;
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

/// The graph of one plan, and the values while it runs.
class OperationGraph {
public:
  static absl::StatusOr<std::shared_ptr<const OperationGraph>> of(const Descriptor &graph) {
    auto program = std::make_shared<OperationGraph>();
    for (const Descriptor *operation : graph.all<const Descriptor *>(CUDNN_ATTR_OPERATIONGRAPH_OPS))
      if (!operation->isFinal || !program->add(*operation))
        return absl::UnimplementedError(absl::StrCat("an operation of kind ", operation->type));
    return program;
  }

  bool isConvolution() const { return operations.size() == 1 && convolutionOf(operations[0].kind); }

  int64_t workspaceBytes(Way way) const {
    constexpr int64_t kFew = 4096, kTooMany = int64_t{1} << 50;
    if (way == Way::Large)
      return kTooMany;
    if (way == Way::Plain || !isConvolution())
      return kFew;
    int64_t bytes = 0; // a copy of each tensor
    for (const TensorInfo *tensor : {&operations[0].x, &operations[0].y, &operations[0].result})
      bytes += (tensor->lastOffset() + 1) * tensor->elementBytes();
    return bytes;
  }

  absl::Status run(Way way, const std::map<int64_t, void *> &addresses, const std::map<int64_t, float> &numbers) const {
    if (way == Way::Winograd || way == Way::Narrowed || way == Way::Cut)
      return absl::UnimplementedError("a way that its numerical notes warn of");
    Values values;
    for (const Operation &operation : operations) {
      for (const TensorInfo *input : {&operation.x, &operation.y, &operation.where})
        if (absl::Status status = load(*input, addresses, numbers, values); !status.ok())
          return status;
      if (way != Way::Plain && isConvolution())
        for (int64_t uid : {operation.x.uid, operation.y.uid})
          std::transform(values[uid].begin(), values[uid].end(), values[uid].begin(), tf32Of);
      std::vector<float> &result = values[operation.result.uid];
      result.assign(operation.result.lastOffset() + 1, 0);
      if (!compute(operation, values, result))
        return absl::UnimplementedError(absl::StrCat("mode ", operation.mode, " of operation ", operation.kind));
      for (float &value : result)
        value = operation.result.rounded(value);
      if (absl::Status status = store(operation.result, addresses, result); !status.ok())
        return status;
    }
    return absl::OkStatus();
  }

  /// Floats of the host are read when the plan is run, not later.
  std::map<int64_t, float> takeNumbers(const std::map<int64_t, void *> &addresses) const {
    std::map<int64_t, float> numbers;
    for (const Operation &operation : operations)
      for (const TensorInfo *input : {&operation.x, &operation.y, &operation.where})
        if (auto found = addresses.find(input->uid); input->isValue && found != addresses.end())
          numbers[input->uid] = *static_cast<const float *>(found->second);
    return numbers;
  }

private:
  using Values = std::map<int64_t, std::vector<float>>; ///< by the tensor's strides

  static bool takeWindows(Operation &operation, const Descriptor &from) {
    auto take = [&](std::array<int64_t, 2> &to, cudnnBackendAttributeName_t name) {
      const auto numbers = from.all<int64_t>(name);
      std::copy_n(numbers.begin(), std::min(numbers.size(), to.size()), to.begin());
      return numbers.size() == to.size();
    };
    std::array<int64_t, 2> behind = {};
    return from.isFinal && take(operation.strides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES) &&
           take(operation.padding, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS) &&
           take(behind, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS) && behind == operation.padding &&
           take(operation.dilation, CUDNN_ATTR_CONVOLUTION_DILATIONS) &&
           from.one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) == 2 &&
           from.one(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CONVOLUTION) == CUDNN_CROSS_CORRELATION;
  }

  bool add(const Descriptor &from) {
    Operation operation{from.type, 0, -1, {}, {}, {}, {}};
    auto take = [&](TensorInfo &to, cudnnBackendAttributeName_t name) { to = TensorInfo::of(from.part(name)); };
    if (const std::optional<ConvolutionNames> names = convolutionOf(from.type)) {
      take(operation.x, names->x);
      take(operation.y, names->y);
      take(operation.result, names->result);
      operations.push_back(operation);
      return takeWindows(operations.back(), *from.part(names->description));
    }
    switch (from.type) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: {
      const Descriptor *description = from.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
      operation.mode = description->one<int>(CUDNN_ATTR_POINTWISE_MODE);
      operation.axis = description->one<int64_t>(CUDNN_ATTR_POINTWISE_AXIS, -1);
      take(operation.x, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
      take(operation.y, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
      take(operation.where, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
      take(operation.result, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
      break;
    }
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      operation.mode = from.part(CUDNN_ATTR_OPERATION_REDUCTION_DESC)->one<int>(CUDNN_ATTR_REDUCTION_OPERATOR);
      take(operation.x, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
      take(operation.result, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
      break;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      take(operation.x, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
      take(operation.y, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
      take(operation.result, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
      break;
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      take(operation.x, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
      take(operation.result, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
      break;
    default:
      return false;
    }
    operations.push_back(operation);
    return true;
  }

  static absl::Status load(const TensorInfo &info, const std::map<int64_t, void *> &addresses,
                           const std::map<int64_t, float> &numbers, Values &values) {
    if (info.uid == 0 || values.count(info.uid))
      return absl::OkStatus();
    std::vector<float> &to = values[info.uid];
    if (info.isValue) {
      to = {numbers.at(info.uid)};
      return absl::OkStatus();
    }
    auto found = addresses.find(info.uid);
    if (info.isVirtual || found == addresses.end())
      return absl::InvalidArgumentError(absl::StrCat("tensor ", info.uid, " is read, but was not written"));
    to.resize(info.lastOffset() + 1);
    if (absl::Status status = check(info, found->second); !status.ok())
      return status;
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = info.elementBytes() == 4       ? static_cast<const float *>(found->second)[i]
              : info.type == CUDNN_DATA_HALF ? fromHalf(static_cast<const uint16_t *>(found->second)[i])
                                             : fromBrain(static_cast<const uint16_t *>(found->second)[i]);
    return absl::OkStatus();
  }

  static absl::Status store(const TensorInfo &info, const std::map<int64_t, void *> &addresses,
                            const std::vector<float> &values) {
    if (info.isVirtual)
      return absl::OkStatus();
    auto found = addresses.find(info.uid);
    if (found == addresses.end())
      return absl::InvalidArgumentError(absl::StrCat("tensor ", info.uid, " has no memory"));
    if (absl::Status status = check(info, found->second); !status.ok())
      return status;
    for (size_t i = 0; i < values.size(); ++i)
      if (info.elementBytes() == 4)
        static_cast<float *>(found->second)[i] = values[i];
      else
        static_cast<uint16_t *>(found->second)[i] =
            info.type == CUDNN_DATA_HALF ? toHalf(values[i]) : toBrain(values[i]);
    return absl::OkStatus();
  }

  static absl::Status check(const TensorInfo &info, const void *data) {
    if (reinterpret_cast<uintptr_t>(data) % 16 != 0)
      return absl::InvalidArgumentError(absl::StrCat("tensor ", info.uid, " is not aligned to 16 bytes"));
    return Memory::get().check(data, (info.lastOffset() + 1) * info.elementBytes(), "a tensor of cuDNN's");
  }

  static bool compute(const Operation &operation, const Values &values, std::vector<float> &result) {
    switch (operation.kind) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return pointwise(operation, values, result);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return reduce(operation, values.at(operation.x.uid), result);
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return multiply(operation, values.at(operation.x.uid), values.at(operation.y.uid), result);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return convolve(operation, values.at(operation.x.uid), values.at(operation.y.uid), result);
    default: // a view
      result = values.at(operation.x.uid);
      return result.size() == static_cast<size_t>(operation.result.lastOffset() + 1);
    }
  }

  static bool pointwise(const Operation &o, const Values &values, std::vector<float> &result) {
    bool isKnown = true;
    forEach(o.result.extents, [&](const Extents &at) {
      const float x = values.at(o.x.uid)[o.x.offset(at)];
      const float y = o.y.uid ? values.at(o.y.uid)[o.y.offset(at)] : 0;
      const bool isSeen = o.where.uid && values.at(o.where.uid)[o.where.offset(at)] != 0;
      float &to = result[o.result.offset(at)];
      switch (o.mode) {
      case CUDNN_POINTWISE_ADD:
        to = x + y;
        break;
      case CUDNN_POINTWISE_SUB:
        to = x - y;
        break;
      case CUDNN_POINTWISE_MUL:
        to = x * y;
        break;
      case CUDNN_POINTWISE_DIV:
        to = x / y;
        break;
      case CUDNN_POINTWISE_EXP:
        to = std::exp(x);
        break;
      case CUDNN_POINTWISE_LOG:
        to = std::log(x);
        break;
      case CUDNN_POINTWISE_GEN_INDEX:
        to = static_cast<float>(at[o.axis]);
        break;
      case CUDNN_POINTWISE_CMP_GE:
        to = x >= y ? 1 : 0;
        break;
      case CUDNN_POINTWISE_BINARY_SELECT:
        to = isSeen ? x : y;
        break;
      default:
        isKnown = false;
      }
    });
    return isKnown;
  }

  static bool reduce(const Operation &o, const std::vector<float> &x, std::vector<float> &result) {
    const bool isMax = o.mode == CUDNN_REDUCE_TENSOR_MAX;
    std::fill(result.begin(), result.end(), isMax ? -INFINITY : 0.0F);
    forEach(o.x.extents, [&](const Extents &at) {
      float &to = result[o.result.offset(at)];
      const float value = x[o.x.offset(at)];
      to = isMax ? std::fmax(to, value) : to + value;
    });
    return isMax || o.mode == CUDNN_REDUCE_TENSOR_ADD;
  }

  static bool multiply(const Operation &o, const std::vector<float> &x, const std::vector<float> &y,
                       std::vector<float> &result) {
    forEach(o.result.extents, [&](const Extents &at) {
      float sum = 0;
      for (int64_t k = 0; k < o.x.extents[3]; ++k)
        sum += x[o.x.offset({at[0], at[1], at[2], k})] * y[o.y.offset({at[0], at[1], k, at[3]})];
      result[o.result.offset(at)] = sum;
    });
    return o.x.extents[3] == o.y.extents[2] && o.x.extents[2] == o.result.extents[2] &&
           o.y.extents[3] == o.result.extents[3];
  }

  /// Adds all products of a convolution up, each into the element that it belongs to.
  static bool convolve(const Operation &o, const std::vector<float> &x, const std::vector<float> &y,
                       std::vector<float> &result) {
    const ConvolutionNames names = *convolutionOf(o.kind);
    const TensorInfo &image = names.makesOutput  ? o.x
                              : names.makesInput ? o.result
                                                 : o.y,
                     &weight = names.makesOutput || names.makesInput ? o.y : o.result,
                     &output = names.makesOutput ? o.result : o.x;
    const int64_t channels = weight.extents[1], groups = image.extents[1] / channels,
                  outputs = weight.extents[0] / groups;
    forEach(output.extents, [&](const Extents &to) {
      forEach({1, channels, weight.extents[2], weight.extents[3]}, [&](const Extents &tap) {
        Extents at = {to[0], to[1] / outputs * channels + tap[1], 0, 0};
        for (const size_t d : {0, 1})
          at[2 + d] = to[2 + d] * o.strides[d] + tap[2 + d] * o.dilation[d] - o.padding[d];
        if (at[2] < 0 || at[2] >= image.extents[2] || at[3] < 0 || at[3] >= image.extents[3])
          return;
        const int64_t ofImage = image.offset(at), ofOutput = output.offset(to),
                      ofWeight = weight.offset({to[1], tap[1], tap[2], tap[3]});
        if (names.makesOutput)
          result[ofOutput] += x[ofImage] * y[ofWeight];
        else if (names.makesInput)
          result[ofImage] += x[ofOutput] * y[ofWeight];
        else
          result[ofWeight] += x[ofOutput] * y[ofImage];
      });
    });
    return image.extents[0] == output.extents[0] && image.extents[1] == groups * channels &&
           output.extents[1] == weight.extents[0] && weight.extents[0] == groups * outputs;
  }

  std::vector<Operation> operations;
};

Descriptor &of(cudnnBackendDescriptor_t descriptor) { return *static_cast<Descriptor *>(descriptor); }

Way wayOf(const Descriptor &configurationOrEngine) {
  return configurationOrEngine.one(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, Way::TensorCores);
}

void setWay(Descriptor &configurationOrEngine, Way way) {
  configurationOrEngine.attributes[CUDNN_ATTR_ENGINE_GLOBAL_INDEX] =
      std::string(reinterpret_cast<const char *>(&way), sizeof(way));
}

std::vector<Way> waysOf(const OperationGraph &graph, bool isFallback) {
  if (isFallback)
    return graph.isConvolution() ? std::vector{Way::Plain} : std::vector<Way>();
  return graph.isConvolution() ? std::vector{Way::Winograd, Way::Narrowed, Way::Cut, Way::Large, Way::TensorCores}
                               : std::vector{Way::TensorCores};
}

std::vector<cudnnBackendNumericalNote_t> notesOf(Way way) {
  std::vector<cudnnBackendNumericalNote_t> notes;
  if (way != Way::Plain)
    notes.push_back(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  if (way == Way::Winograd)
    notes.push_back(CUDNN_NUMERICAL_NOTE_WINOGRAD);
  if (way == Way::Narrowed)
    notes.push_back(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  if (way == Way::Cut)
    notes.push_back(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
  if (std::getenv("SPLITCAST_CUDA_ON_CPU_NONDETERMINISTIC"))
    notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  return notes;
}

cudaStream_t chosenStream = cudaStreamLegacy;
thread_local std::string lastError;

cudnnStatus_t refuse(const absl::Status &status) {
  lastError = std::string(status.message());
  return CUDNN_STATUS_NOT_SUPPORTED;
}

} // namespace
} // namespace splitcast::cuda_on_cpu

using namespace splitcast::cuda_on_cpu; // the functions below are C's

extern "C" {

/// SPLITCAST_CUDA_ON_CPU_CUDNN_VERSION says which, as 91300 for 9.13.0.
size_t cudnnGetVersion() {
  const char *wanted = std::getenv("SPLITCAST_CUDA_ON_CPU_CUDNN_VERSION");
  return wanted ? std::atoi(wanted) : CUDNN_VERSION;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  static int one;
  *handle = reinterpret_cast<cudnnHandle_t>(&one);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t stream) {
  chosenStream = stream;
  return CUDNN_STATUS_SUCCESS;
}

const char *cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS ? "CUDNN_STATUS_SUCCESS" : "an error of cuDNN on a CPU";
}

void cudnnGetLastErrorString(char *text, size_t bytes) { lastError.copy(text, bytes - 1); }

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *descriptor) {
  *descriptor = new Descriptor{type, false, {}, nullptr, 0};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete &of(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void *values) {
  if (of(descriptor).isFinal)
    return refuse(absl::FailedPreconditionError("an attribute of a descriptor that is final"));
  of(descriptor).attributes[name] = std::string(static_cast<const char *>(values), count * bytesOf(type));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  Descriptor &made = of(descriptor);
  if (made.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    const Descriptor *configuration = made.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    auto program = OperationGraph::of(*configuration->part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
    if (!program.ok())
      return refuse(program.status());
    made.program = *program;
    made.way = static_cast<int64_t>(wayOf(*configuration));
  }
  made.isFinal = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t requested, int64_t *count, void *values) {
  const Descriptor &asked = of(descriptor);
  *count = 1;
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    const int64_t bytes = asked.program->workspaceBytes(static_cast<Way>(asked.way));
    std::memcpy(values, &bytes, sizeof(bytes));
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
    setWay(of(*static_cast<cudnnBackendDescriptor_t *>(values)), wayOf(asked));
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
    const std::vector<cudnnBackendNumericalNote_t> notes = notesOf(wayOf(asked));
    *count = static_cast<int64_t>(notes.size());
    std::copy(notes.begin(), notes.end(), static_cast<cudnnBackendNumericalNote_t *>(values));
    return CUDNN_STATUS_SUCCESS;
  }
  if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS)
    return refuse(absl::UnimplementedError(absl::StrCat("attribute ", name, " is not told")));
  const Descriptor *graph = asked.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  auto program = OperationGraph::of(*graph);
  if (!program.ok())
    return refuse(program.status());
  const bool isFallback = asked.one(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A) == CUDNN_HEUR_MODE_FALLBACK;
  const std::vector<Way> ways = waysOf(**program, isFallback);
  *count = std::min(requested, static_cast<int64_t>(ways.size()));
  for (int64_t i = 0; i < *count; ++i) {
    Descriptor &proposed = of(static_cast<cudnnBackendDescriptor_t *>(values)[i]);
    proposed.attributes[CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH] =
        std::string(reinterpret_cast<const char *>(&graph), sizeof(graph));
    setWay(proposed, ways[i]);
    proposed.isFinal = true;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  std::shared_ptr<const OperationGraph> program = of(plan).program;
  if (!program)
    return refuse(absl::FailedPreconditionError("a plan that is not final"));
  const Way way = static_cast<Way>(of(plan).way);
  const auto uids = of(pack).all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = of(pack).all<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::map<int64_t, void *> addresses;
  for (size_t i = 0; i < uids.size(); ++i)
    addresses[uids[i]] = pointers[i];
  auto *workspace = of(pack).one<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  auto numbers = program->takeNumbers(addresses);
  cudaError_t error = streamOf(chosenStream).add({"a plan of cuDNN's", [=]() -> absl::Status {
                                                    const int64_t bytes = program->workspaceBytes(way);
                                                    if (absl::Status status =
                                                            Memory::get().check(workspace, bytes, "cuDNN's workspace");
                                                        !status.ok())
                                                      return status;
                                                    std::memset(workspace, 0xEE, bytes);
                                                    return program->run(way, addresses, numbers);
                                                  }});
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

} // extern "C"
