//===- LibraryEmbeddingGrad.cc - Adds rows into the rows of a table ----------===//
//
// #exec.embedding_grad<rows = N, vocabulary = V, width = H, ...>, of bf16, f16, f32 and f64.
//   Operands  dy [N, H], ids [N]; output table [V, H]; for bf16 and f16 also a
//             workspace.
//   Meaning   table = 0; then table[ids[n]] += dy[n] for n = 0, 1, ..., in this
//             order, so that the result is always the same. bf16 and f16 are
//             added in f32 and rounded once. With `first` F, the table has the
//             rows F..F+V-1 of a larger table; other ids add nothing.
//   Threads   share the columns, so that each sum keeps its order.
//   Errors    at launch, without `first`, InvalidArgument: an id is outside
//             0..V-1; nothing was written.
//
//===----------------------------------------------------------------------===//
#include "dialects/exec/EmbeddingWorkspace.h"
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/host/calls/LibraryCall.h"
#include "runtime/host/calls/SmallFloats.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <optional>

namespace splitcast::runtime {
namespace {

constexpr char kName[] = "embedding_grad";

/// The rows of a table, or of a part of one.
struct Places {
  int64_t vocabulary = 0;
  std::optional<int64_t> first; ///< the first row, if this is a part

  /// Returns the row that an id names, or nullopt if it lies elsewhere.
  std::optional<int64_t> rowOf(int64_t id) const {
    const int64_t begin = first.value_or(0);
    return id >= begin && id - begin < vocabulary ? std::optional<int64_t>(id - begin) : std::nullopt;
  }

  template <typename Index> absl::Status check(const std::string &what, const Index *ids, int64_t rows) const {
    for (int64_t n = 0; n < rows && !first; ++n)
      if (!rowOf(ids[n]))
        return absl::InvalidArgumentError(
            absl::StrCat(what, ": ids[", n, "] is ", ids[n], "; the vocabulary has ", vocabulary, " rows"));
    return absl::OkStatus();
  }
};

/// How threads share the columns of a table.
class ColumnShares {
public:
  /// `bytes` are those that are read and written.
  ColumnShares(int64_t width, int64_t bytes, std::shared_ptr<WorkerPool> pool) : width(width), pool(std::move(pool)) {
    shares = this->pool->partsFor(bytes, width / kColumns);
  }

  /// Calls `work` for the columns [begin, end) of each share.
  void run(absl::FunctionRef<void(int64_t begin, int64_t end)> work) const {
    auto boundOf = [&](int64_t share) {
      return share == shares ? width : width / kColumns * share / shares * kColumns;
    };
    pool->run(shares, [&](int64_t share) { work(boundOf(share), boundOf(share + 1)); });
  }

private:
  static constexpr int64_t kColumns = 16; ///< shares begin at multiples of these

  int64_t width, shares = 1;
  std::shared_ptr<WorkerPool> pool;
};

template <typename Float, typename Index> class EmbeddingGrad : public Launchable {
public:
  EmbeddingGrad(int64_t rows, const Places &places, int64_t width, std::vector<int64_t> argumentBytes,
                const ColumnShares &shares)
      : rows(rows), places(places), width(width), argumentBytes(std::move(argumentBytes)), shares(shares) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(what, argumentBytes, buffers));
    const Index *ids = reinterpret_cast<const Index *>(buffers[1].data);
    const Float *gradients = reinterpret_cast<const Float *>(buffers[0].data);
    Float *table = reinterpret_cast<Float *>(buffers[2].data);
    SPLITCAST_RETURN_IF_ERROR(places.check(what, ids, rows));
    shares.run([&](int64_t begin, int64_t end) { addColumns(gradients + begin, ids, table + begin, end - begin); });
    return absl::OkStatus();
  }

private:
  void addColumns(const Float *gradients, const Index *ids, Float *table, int64_t columns) const {
    for (int64_t row = 0; row < places.vocabulary; ++row)
      std::fill_n(table + row * width, columns, Float(0));
    for (int64_t n = 0; n < rows; ++n)
      if (const std::optional<int64_t> row = places.rowOf(ids[n]))
        addRow(table + *row * width, gradients + n * width, columns);
  }

  static void addRow(Float *__restrict sum, const Float *__restrict addend, int64_t columns) {
    for (int64_t h = 0; h < columns; ++h)
      sum[h] += addend[h];
  }

  const std::string what = std::string("library call '") + kName + "'";
  int64_t rows;
  Places places;
  int64_t width;
  std::vector<int64_t> argumentBytes;
  ColumnShares shares;
};

/// For bf16 and f16. It computes one row of the table at a time, since sums are
/// in f32. The rows of the gradient that belong to a row of the table are
/// chained in ascending order.
template <typename Index> class SmallEmbeddingGrad : public Launchable {
public:
  SmallEmbeddingGrad(ElementType type, int64_t rows, const Places &places, int64_t width,
                     std::vector<int64_t> argumentBytes, const ColumnShares &shares)
      : floats(SmallFloats::of(type)), rows(rows), places(places), width(width),
        argumentBytes(std::move(argumentBytes)), shares(shares), row(width) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(what, argumentBytes, buffers));
    const auto *gradients = reinterpret_cast<const uint16_t *>(buffers[0].data);
    const auto *ids = reinterpret_cast<const Index *>(buffers[1].data);
    auto *table = reinterpret_cast<uint16_t *>(buffers[2].data);
    SPLITCAST_RETURN_IF_ERROR(places.check(what, ids, rows));
    if (argumentBytes[2] == 0)
      return absl::OkStatus();
    auto *first = reinterpret_cast<int64_t *>(buffers[3].data), *next = first + places.vocabulary;
    auto *sums = reinterpret_cast<float *>(next + rows);
    std::fill(first, first + places.vocabulary, kNone);
    for (int64_t n = rows - 1; n >= 0; --n)
      if (const std::optional<int64_t> place = places.rowOf(ids[n])) {
        next[n] = first[*place];
        first[*place] = n;
      }
    shares.run([&](int64_t begin, int64_t end) {
      for (int64_t place = 0; place < places.vocabulary; ++place)
        makeRow(gradients + begin, first[place], next, sums + begin, row.data() + begin, table + place * width + begin,
                end - begin);
    });
    return absl::OkStatus();
  }

private:
  static constexpr int64_t kNone = -1;

  /// Makes columns of a row, of which the gradient's row n is the first addend.
  void makeRow(const uint16_t *gradients, int64_t n, const int64_t *next, float *sums, float *addend, uint16_t *to,
               int64_t columns) const {
    std::fill_n(sums, columns, 0.0F);
    for (; n != kNone; n = next[n]) {
      floats.widen(gradients + n * width, addend, columns);
      for (int64_t h = 0; h < columns; ++h)
        sums[h] += addend[h];
    }
    floats.round(sums, to, columns);
  }

  const std::string what = std::string("library call '") + kName + "'";
  const SmallFloats floats;
  const int64_t rows;
  const Places places;
  const int64_t width;
  const std::vector<int64_t> argumentBytes;
  const ColumnShares shares;
  std::vector<float> row; ///< the addend in f32
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
  const Places places{call.getVocabulary(), call.getFirst()};
  const std::vector<int64_t> operandBytes = call.getOperandBytes();
  const ColumnShares shares(call.getWidth(), operandBytes[0] + operandBytes[2], options.pool);
  if (type == ElementType::BF16 || type == ElementType::F16) {
    std::vector<int64_t> bytes = operandBytes;
    bytes.push_back(
        exec::hostEmbeddingGradWorkspace(call.getRows(), call.getVocabulary(), call.getWidth(), 2).value_or(0));
    if (indexType == ElementType::I64)
      return std::make_unique<SmallEmbeddingGrad<int64_t>>(type, call.getRows(), places, call.getWidth(), bytes,
                                                           shares);
    return std::make_unique<SmallEmbeddingGrad<int32_t>>(type, call.getRows(), places, call.getWidth(), bytes, shares);
  }
  return createFor(type, indexType, call.getRows(), places, call.getWidth(), operandBytes, shares);
}

const LibraryCallRegistration registration(kName, create);

} // namespace
} // namespace splitcast::runtime
