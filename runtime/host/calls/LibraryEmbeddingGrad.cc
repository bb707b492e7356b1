//===- LibraryEmbeddingGrad.cc - Adds rows into the rows of a table ----------===//
//
// #exec.embedding_grad<rows = N, vocabulary = V, width = H, ...>, of bf16, f16, f32 and f64.
//   Operands  dy [N, H], ids [N]; output table [V, H]; of bf16 and f16 a workspace.
//   Meaning   table = 0; then table[ids[n]] += dy[n] for n = 0, 1, ...: one order, so one result. Of bf16 and f16 the
//             sums are in f32, and rounded once.
//   Errors    at launch, InvalidArgument: an id outside 0..V-1; nothing was written.
//
//===----------------------------------------------------------------------===//
#include "dialects/exec/EmbeddingWorkspace.h"
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/host/calls/LibraryCall.h"
#include "runtime/host/calls/SmallFloats.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>

namespace splitcast::runtime {
namespace {

constexpr char kName[] = "embedding_grad";

template <typename Index>
absl::Status checkIds(const std::string &what, const Index *ids, int64_t rows, int64_t vocabulary) {
  for (int64_t n = 0; n < rows; ++n)
    if (ids[n] < 0 || ids[n] >= vocabulary)
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": ids[", n, "] is ", ids[n], "; the vocabulary has ", vocabulary, " rows"));
  return absl::OkStatus();
}

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
    if (absl::Status status = checkIds(what, ids, rows, vocabulary); !status.ok())
      return status;
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

/// A row of the table at a time: which rows it gets, in ascending order, is a chain from the first on.
template <typename Index> class SmallEmbeddingGrad : public Launchable {
public:
  SmallEmbeddingGrad(ElementType type, int64_t rows, int64_t vocabulary, int64_t width,
                     std::vector<int64_t> argumentBytes)
      : floats(SmallFloats::of(type)), rows(rows), vocabulary(vocabulary), width(width),
        argumentBytes(std::move(argumentBytes)), row(width) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    if (absl::Status status = checkBuffers(what, argumentBytes, buffers); !status.ok())
      return status;
    const auto *gradients = reinterpret_cast<const uint16_t *>(buffers[0].data);
    const auto *ids = reinterpret_cast<const Index *>(buffers[1].data);
    auto *table = reinterpret_cast<uint16_t *>(buffers[2].data);
    if (absl::Status status = checkIds(what, ids, rows, vocabulary); !status.ok())
      return status;
    if (argumentBytes[2] == 0)
      return absl::OkStatus();
    auto *first = reinterpret_cast<int64_t *>(buffers[3].data), *next = first + vocabulary;
    auto *sums = reinterpret_cast<float *>(next + rows);
    std::fill(first, first + vocabulary, kNone);
    for (int64_t n = rows - 1; n >= 0; --n) {
      next[n] = first[ids[n]];
      first[ids[n]] = n;
    }
    for (int64_t place = 0; place < vocabulary; ++place)
      makeRow(gradients, first[place], next, sums, table + place * width);
    return absl::OkStatus();
  }

private:
  static constexpr int64_t kNone = -1;

  void makeRow(const uint16_t *gradients, int64_t n, const int64_t *next, float *sums, uint16_t *to) {
    std::fill(sums, sums + width, 0.0F);
    for (; n != kNone; n = next[n]) {
      floats.widen(gradients + n * width, row.data(), width);
      for (int64_t h = 0; h < width; ++h)
        sums[h] += row[h];
    }
    floats.round(sums, to, width);
  }

  const std::string what = std::string("library call '") + kName + "'";
  const SmallFloats floats;
  const int64_t rows, vocabulary, width;
  const std::vector<int64_t> argumentBytes;
  std::vector<float> row; ///< that is added
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
  if (type == ElementType::BF16 || type == ElementType::F16) {
    std::vector<int64_t> bytes = call.getOperandBytes();
    bytes.push_back(
        exec::hostEmbeddingGradWorkspace(call.getRows(), call.getVocabulary(), call.getWidth(), 2).value_or(0));
    if (indexType == ElementType::I64)
      return std::make_unique<SmallEmbeddingGrad<int64_t>>(type, call.getRows(), call.getVocabulary(), call.getWidth(),
                                                           bytes);
    return std::make_unique<SmallEmbeddingGrad<int32_t>>(type, call.getRows(), call.getVocabulary(), call.getWidth(),
                                                         bytes);
  }
  return createFor(type, indexType, call.getRows(), call.getVocabulary(), call.getWidth(), call.getOperandBytes());
}

const LibraryCallRegistration registration(kName, create);

} // namespace
} // namespace splitcast::runtime
