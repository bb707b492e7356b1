//===- Cudnn.cc - cuDNN's graphs of operations, op by op
//------------------------------------------------------------===//
//
// A descriptor is a table of attributes. A plan keeps the operations in their order; each is computed on whole tensors
// in f32, and rounded to the type of its result, virtual ones too. What the project's graphs do not use is refused.
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

namespace splitcast::cuda_on_cpu {
namespace {

using Extents = std::array<int64_t, 4>;

class OperationGraph;

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool isFinal = false;
  std::map<cudnnBackendAttributeName_t, std::string> attributes;
  std::shared_ptr<const OperationGraph> program = nullptr; ///< of a plan that is final: it outlives what it was made of

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

struct Operation {
  cudnnBackendDescriptorType_t kind;
  int mode = 0; ///< of a pointwise operation or a reduction
  int64_t axis = -1;
  TensorInfo x, y, where, result;
};

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

  absl::Status run(const std::map<int64_t, void *> &addresses, const std::map<int64_t, float> &numbers) const {
    Values values;
    for (const Operation &operation : operations) {
      for (const TensorInfo *input : {&operation.x, &operation.y, &operation.where})
        if (absl::Status status = load(*input, addresses, numbers, values); !status.ok())
          return status;
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

  bool add(const Descriptor &from) {
    Operation operation{from.type, 0, -1, {}, {}, {}, {}};
    auto take = [&](TensorInfo &to, cudnnBackendAttributeName_t name) { to = TensorInfo::of(from.part(name)); };
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

  std::vector<Operation> operations;
};

Descriptor &of(cudnnBackendDescriptor_t descriptor) { return *static_cast<Descriptor *>(descriptor); }

constexpr int64_t kWorkspaceBytes = 4096;
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
  *descriptor = new Descriptor{type, false, {}, nullptr};
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
  }
  made.isFinal = true;
  return CUDNN_STATUS_SUCCESS;
}

/// Heuristics propose one configuration: to run the graph as it is.
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t, int64_t *count, void *values) {
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    *count = 1;
    std::memcpy(values, &kWorkspaceBytes, sizeof(kWorkspaceBytes));
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
    *count = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
    const bool isShaky = std::getenv("SPLITCAST_CUDA_ON_CPU_NONDETERMINISTIC") != nullptr;
    *count = isShaky ? 2 : 1;
    const cudnnBackendNumericalNote_t notes[] = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE,
                                                 CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC};
    std::copy_n(notes, *count, static_cast<cudnnBackendNumericalNote_t *>(values));
    return CUDNN_STATUS_SUCCESS;
  }
  if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS)
    return refuse(absl::UnimplementedError(absl::StrCat("attribute ", name, " is not told")));
  const Descriptor *graph = of(descriptor).part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (auto program = OperationGraph::of(*graph); !program.ok())
    return refuse(program.status());
  Descriptor &proposed = of(*static_cast<cudnnBackendDescriptor_t *>(values));
  proposed.attributes[CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH] =
      std::string(reinterpret_cast<const char *>(&graph), sizeof(graph));
  proposed.isFinal = true;
  *count = 1;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  std::shared_ptr<const OperationGraph> program = of(plan).program;
  if (!program)
    return refuse(absl::FailedPreconditionError("a plan that is not final"));
  const auto uids = of(pack).all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = of(pack).all<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::map<int64_t, void *> addresses;
  for (size_t i = 0; i < uids.size(); ++i)
    addresses[uids[i]] = pointers[i];
  auto *workspace = of(pack).one<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  auto numbers = program->takeNumbers(addresses);
  cudaError_t error = streamOf(chosenStream).add({"a plan of cuDNN's", [=]() -> absl::Status {
                                                    if (absl::Status status = Memory::get().check(
                                                            workspace, kWorkspaceBytes, "cuDNN's workspace");
                                                        !status.ok())
                                                      return status;
                                                    std::memset(workspace, 0xEE, kWorkspaceBytes);
                                                    return program->run(addresses, numbers);
                                                  }});
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

} // extern "C"
