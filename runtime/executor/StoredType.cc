#include "runtime/executor/StoredType.h"

#include "runtime/api/ElementTypeFromIr.h"

#include "absl/strings/str_cat.h"
#include "mlir/IR/TypeUtilities.h"

#include <string>

namespace splitcast::runtime {

absl::StatusOr<ElementType> storedTypeOf(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  if (std::optional<ElementType> known = elementTypeOf(element))
    return *known;
  std::string name;
  llvm::raw_string_ostream(name) << element;
  return absl::InvalidArgumentError(absl::StrCat("element type ", name,
                                                 " cannot be stored; use f32, f64, bf16, f16, i32, "
                                                 "i64, i8 or i1"));
}

} // namespace splitcast::runtime
