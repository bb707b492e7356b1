#include "dialects/sbp/Places.h"

#include "absl/strings/str_cat.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace splitcast {

std::string placeOf(mlir::Location location) {
  if (auto file = location->findInstanceOf<mlir::FileLineColLoc>()) {
    const std::string column = file.getColumn() == 0 ? "" : absl::StrCat(":", file.getColumn());
    return absl::StrCat(file.getFilename().str(), ":", file.getLine(), column, ": ");
  }
  if (auto name = location->findInstanceOf<mlir::NameLoc>())
    return name.getName().str() + ": ";
  return "";
}

} // namespace splitcast
