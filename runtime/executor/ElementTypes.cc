#include "runtime/executor/ElementTypes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "absl/strings/str_cat.h"

#include <string>

namespace splitcast::runtime {

absl::StatusOr<ElementType> elementTypeOf(mlir::Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << mlir::getElementTypeOrSelf(type);
  for (ElementType known : {ElementType::F32, ElementType::F64, ElementType::BF16, ElementType::F16, ElementType::I32,
                            ElementType::I64, ElementType::I8, ElementType::I1})
    if (name == nameOf(known))
      return known;
  return absl::InvalidArgumentError(absl::StrCat("element type ", name, " cannot be stored; use f32, f64, bf16, f16, i32, "
                                                 "i64, i8 or i1"));
}

} // namespace splitcast::runtime
