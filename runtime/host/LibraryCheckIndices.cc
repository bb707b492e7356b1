//===- LibraryCheckIndices.cc - Refuses indices that lie outside -------------===//
//
// "check_indices": config {count = N, places = P, index_type = i32 | i64, what = "the op that they are for"[,
// ignored = I]}.
//   Operands  indices [N]; no output.
//   Errors    at launch, InvalidArgument: an index outside of 0..P-1 that is not I.
//
//===----------------------------------------------------------------------===//
#include "runtime/host/LaunchCheck.h"
#include "runtime/host/LibraryCall.h"
#include "runtime/host/LibraryConfig.h"

#include "absl/strings/str_cat.h"

namespace splitcast::runtime {
namespace {

constexpr char kName[] = "check_indices";

template <typename Index> class CheckIndices : public Launchable {
public:
  CheckIndices(int64_t count, int64_t places, std::optional<int64_t> ignored, std::string what)
      : count(count), places(places), ignored(ignored), what(std::move(what)) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    if (absl::Status status = checkBuffers(kName, {count * static_cast<int64_t>(sizeof(Index))}, buffers); !status.ok())
      return status;
    const Index *indices = reinterpret_cast<const Index *>(buffers[0].data);
    for (int64_t i = 0; i < count; ++i)
      if ((indices[i] < 0 || indices[i] >= places) && indices[i] != ignored)
        return absl::InvalidArgumentError(absl::StrCat("'", what, "': index ", i, " of its input is ", indices[i],
                                                       "; it must be from 0 to ", places - 1,
                                                       ": check the data, or enlarge the table"));
    return absl::OkStatus();
  }

private:
  int64_t count;
  int64_t places;
  std::optional<int64_t> ignored;
  std::string what;
};

absl::StatusOr<std::unique_ptr<Launchable>> create(mlir::DictionaryAttr attribute, const LibraryCallOptions &options) {
  LibraryConfig config(kName, attribute);
  int64_t count = config.count("count");
  int64_t places = config.count("places");
  ElementType indexType = config.type("index_type");
  std::string what = config.text("what");
  std::optional<int64_t> ignored = config.optionalNumber("ignored");
  if (absl::Status status = config.status(); !status.ok())
    return status;
  if (indexType == ElementType::I64)
    return std::make_unique<CheckIndices<int64_t>>(count, places, ignored, what);
  if (indexType == ElementType::I32)
    return std::make_unique<CheckIndices<int32_t>>(count, places, ignored, what);
  return absl::InvalidArgumentError(
      absl::StrCat("library call '", kName, "': indices are i32 or i64, not ", nameOf(indexType)));
}

const LibraryCallRegistration registration(kName, create);

} // namespace
} // namespace splitcast::runtime
