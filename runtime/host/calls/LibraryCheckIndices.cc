//===- LibraryCheckIndices.cc - Refuses indices that lie outside -------------===//
//
// "check_indices" (IndexCheck.h) on the CPU.
//
//===----------------------------------------------------------------------===//
#include "runtime/api/IndexCheck.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/host/calls/LibraryCall.h"

#include "absl/strings/str_cat.h"

namespace splitcast::runtime {
namespace {

template <typename Index> class CheckIndices : public Launchable {
public:
  explicit CheckIndices(IndexCheck check) : check(std::move(check)) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    const int64_t bytes = check.count * static_cast<int64_t>(sizeof(Index));
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(IndexCheck::kName, {bytes}, buffers));
    const Index *indices = reinterpret_cast<const Index *>(buffers[0].data);
    for (int64_t i = 0; i < check.count; ++i)
      if (!check.isLegal(indices[i]))
        return check.refuse(i, absl::StrCat(indices[i]));
    return absl::OkStatus();
  }

private:
  const IndexCheck check;
};

absl::StatusOr<std::unique_ptr<Launchable>> create(exec::LibraryCallAttrInterface call,
                                                   const LibraryCallOptions &options) {
  const IndexCheck check = IndexCheck::from(callAs<exec::CheckIndicesAttr>(call));
  if (check.type == ElementType::I64)
    return std::make_unique<CheckIndices<int64_t>>(check);
  return std::make_unique<CheckIndices<int32_t>>(check);
}

const LibraryCallRegistration registration(IndexCheck::kName, create);

} // namespace
} // namespace splitcast::runtime
