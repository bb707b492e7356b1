//===- LibraryEmbeddingGrad.cc - Adds rows into the rows of a table ----------===//
//
// #exec.embedding_grad<rows = N, vocabulary = V, width = H, ...>, of f32 and f64.
//   Operands  dy [N, H], ids [N]; output table [V, H].
//   Meaning   table = 0; then table[ids[n]] += dy[n] for n = 0, 1, ...: one order, so one result.
//   Errors    at launch, InvalidArgument: an id outside 0..V-1; nothing was written.
//
//===----------------------------------------------------------------------===//
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/host/calls/LibraryCall.h"

#include "absl/strings/str_cat.h"

#include <cstring>

namespace splitcast::runtime {
namespace {

constexpr char kName[] = "embedding_grad";

template <typename Float, typename Index> class EmbeddingGrad : public Launchable {
public:
  EmbeddingGrad(int64_t rows, int64_t vocabulary, int64_t width, std::vector<int64_t> argumentBytes)
      : rows(rows), vocabulary(vocabulary), width(width), argumentBytes(std::move(argumentBytes)) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    if (absl::Status status = checkBuffers(what, argumentBytes, buffers); !status.ok())
      return status;
    const Index *ids = reinterpret_cast<const Index *>(buffers[1].data);
    const Float *gradients = reinterpret_cast<const Float *>(buffers[0].data);
    Float *table = reinterpret_cast<Float *>(buffers[2].data);
    for (int64_t n = 0; n < rows; ++n)
      if (ids[n] < 0 || ids[n] >= vocabulary)
        return absl::InvalidArgumentError(
            absl::StrCat(what, ": ids[", n, "] is ", ids[n], "; the vocabulary has ", vocabulary, " rows"));
    if (argumentBytes[2] > 0)
      std::memset(table, 0, argumentBytes[2]);
    for (int64_t n = 0; n < rows; ++n)
      addRow(table + ids[n] * width, gradients + n * width);
    return absl::OkStatus();
  }

private:
  void addRow(Float *__restrict sum, const Float *__restrict addend) const {
    for (int64_t h = 0; h < width; ++h)
      sum[h] += addend[h];
  }

  const std::string what = std::string("library call '") + kName + "'";
  int64_t rows;
  int64_t vocabulary;
  int64_t width;
  std::vector<int64_t> argumentBytes;
};

template <typename... Arguments>
std::unique_ptr<Launchable> createFor(ElementType type, ElementType indexType, const Arguments &...arguments) {
  bool wideIndex = indexType == ElementType::I64;
  if (type == ElementType::F64) {
    if (wideIndex)
      return std::make_unique<EmbeddingGrad<double, int64_t>>(arguments...);
    return std::make_unique<EmbeddingGrad<double, int32_t>>(arguments...);
  }
  if (wideIndex)
    return std::make_unique<EmbeddingGrad<float, int64_t>>(arguments...);
  return std::make_unique<EmbeddingGrad<float, int32_t>>(arguments...);
}

absl::StatusOr<std::unique_ptr<Launchable>> create(exec::LibraryCallAttrInterface any,
                                                   const LibraryCallOptions &options) {
  auto call = callAs<exec::EmbeddingGradAttr>(any);
  const ElementType type = *elementTypeOf(call.getType()), indexType = *elementTypeOf(call.getIndexType());
  if (type != ElementType::F32 && type != ElementType::F64)
    return absl::UnimplementedError(
        absl::StrCat("library call '", kName, "' adds f32 and f64, not ", nameOf(type), "; extend the rows first"));
  return createFor(type, indexType, call.getRows(), call.getVocabulary(), call.getWidth(), call.getOperandBytes());
}

const LibraryCallRegistration registration(kName, create);

} // namespace
} // namespace splitcast::runtime
