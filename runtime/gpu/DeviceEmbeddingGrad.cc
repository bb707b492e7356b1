#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/gpu/DeviceCalls.h"
#include "runtime/gpu/WarpKernel.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

#include <vector>

namespace splitcast::runtime {
namespace {

constexpr char kName[] = "embedding_grad";

/// A row's elements are added by the lane that stores them, in the order of the indices: a sum has one order.
std::string moduleOf(int64_t rows, int64_t vocabulary, int64_t width, ElementType type, ElementType index) {
  const std::string element = nameOf(type), gradient = absl::StrCat("memref<", rows, "x", width, "x", element, ">"),
                    table = absl::StrCat("memref<", vocabulary, "x", width, "x", element, ">"),
                    ids = absl::StrCat("memref<", rows, "x", nameOf(index), ">");
  const std::string body = absl::Substitute(R"(%width = arith.constant $0 : index
%count = arith.constant $1 : index
%begin = arith.constant 0 : index
%one = arith.constant 1 : index
%zero = arith.constant 0.0 : $2
%wanted = arith.index_cast %row : index to $3
scf.for %column = %lane to %width step %lanes {
  memref.store %zero, %table[%row, %column] : $4
}
scf.for %i = %begin to %count step %one {
  %id = memref.load %ids[%i] : $5
  %isMine = arith.cmpi eq, %id, %wanted : $3
  scf.if %isMine {
    scf.for %column = %lane to %width step %lanes {
      %sofar = memref.load %table[%row, %column] : $4
      %addend = memref.load %gradient[%i, %column] : $6
      %sum = arith.addf %sofar, %addend : $2
      memref.store %sum, %table[%row, %column] : $4
    }
  }
}
)",
                                            width, rows, element, nameOf(index), table, ids, gradient);
  return warpKernel(kName, absl::StrCat("%gradient: ", gradient, ", %ids: ", ids, ", %table: ", table), vocabulary,
                    body);
}

/// A kernel, with the library that it is of.
class KernelCall final : public Launchable {
public:
  KernelCall(std::shared_ptr<KernelLibrary> library, std::unique_ptr<Launchable> kernel)
      : library(std::move(library)), kernel(std::move(kernel)) {}
  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    return kernel->launch(buffers, stream);
  }

private:
  const std::shared_ptr<KernelLibrary> library;
  const std::unique_ptr<Launchable> kernel;
};

} // namespace

absl::StatusOr<std::unique_ptr<Launchable>> createDeviceEmbeddingGrad(exec::EmbeddingGradAttr call,
                                                                      CallServices &services) {
  absl::StatusOr<std::shared_ptr<KernelLibrary>> library =
      services.kernels(moduleOf(call.getRows(), call.getVocabulary(), call.getWidth(), *elementTypeOf(call.getType()),
                                *elementTypeOf(call.getIndexType())));
  if (!library.ok())
    return library.status();
  absl::StatusOr<std::unique_ptr<Launchable>> kernel = (*library)->kernel(kName);
  if (!kernel.ok())
    return kernel.status();
  return std::make_unique<KernelCall>(*std::move(library), *std::move(kernel));
}

} // namespace splitcast::runtime
