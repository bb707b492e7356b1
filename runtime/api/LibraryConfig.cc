#include "runtime/api/LibraryConfig.h"

#include "runtime/api/ElementTypeFromIr.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

namespace splitcast::runtime {

void LibraryConfig::fail(const std::string &message) {
  firstError.Update(absl::InvalidArgumentError(absl::StrCat("library call '", call, "': ", message)));
}

mlir::Attribute LibraryConfig::find(const std::string &key, const char *expected) {
  known.insert(key);
  mlir::Attribute value = config ? config.get(key) : mlir::Attribute();
  if (!value)
    fail(absl::StrCat("its configuration lacks '", key, "', ", expected));
  return value;
}

int64_t LibraryConfig::count(const std::string &key) {
  mlir::Attribute value = find(key, "a count (i64)");
  auto integer = llvm::dyn_cast_or_null<mlir::IntegerAttr>(value);
  if (value && (!integer || !integer.getType().isSignlessInteger(64) || integer.getInt() < 0))
    fail(absl::StrCat("'", key, "' must be an i64 of at least 0"));
  return integer && integer.getType().isSignlessInteger(64) ? integer.getInt() : 0;
}

int64_t LibraryConfig::countOr(const std::string &key, int64_t otherwise) {
  known.insert(key);
  return has(key) ? count(key) : otherwise;
}

std::optional<int64_t> LibraryConfig::optionalNumber(const std::string &key) {
  known.insert(key);
  if (!has(key))
    return std::nullopt;
  auto integer = llvm::dyn_cast<mlir::IntegerAttr>(config.get(key));
  if (integer && integer.getType().isSignlessInteger(64))
    return integer.getInt();
  fail(absl::StrCat("'", key, "' must be an i64"));
  return std::nullopt;
}

double LibraryConfig::real(const std::string &key) {
  mlir::Attribute value = find(key, "a number (f64)");
  auto number = llvm::dyn_cast_or_null<mlir::FloatAttr>(value);
  if (value && (!number || !number.getType().isF64()))
    fail(absl::StrCat("'", key, "' must be an f64"));
  return number && number.getType().isF64() ? number.getValueAsDouble() : 0.0;
}

bool LibraryConfig::flag(const std::string &key) {
  known.insert(key);
  mlir::Attribute value = config ? config.get(key) : mlir::Attribute();
  auto boolean = llvm::dyn_cast_or_null<mlir::BoolAttr>(value);
  if (value && !boolean)
    fail(absl::StrCat("'", key, "' must be true or false"));
  return boolean && boolean.getValue();
}

ElementType LibraryConfig::type(const std::string &key) {
  mlir::Attribute value = find(key, "an element type");
  auto attribute = llvm::dyn_cast_or_null<mlir::TypeAttr>(value);
  std::optional<ElementType> type = attribute ? elementTypeOf(attribute.getValue()) : std::nullopt;
  if (value && !type)
    fail(absl::StrCat("'", key, "' must be the type of a buffer's elements (f32, i64, ...)"));
  return type.value_or(ElementType::F32);
}

std::string LibraryConfig::text(const std::string &key) {
  mlir::Attribute value = find(key, "a string");
  auto attribute = llvm::dyn_cast_or_null<mlir::StringAttr>(value);
  if (value && !attribute)
    fail(absl::StrCat("'", key, "' must be a string"));
  return attribute ? attribute.str() : "";
}

int64_t LibraryConfig::bytes(llvm::ArrayRef<int64_t> shape, ElementType type) {
  int64_t bytes = bytesOf(type);
  bool overflows = false;
  for (int64_t extent : shape)
    overflows |= __builtin_mul_overflow(bytes, extent, &bytes);
  if (overflows)
    fail(absl::StrCat("an operand of ", absl::StrJoin(shape, " x "), " ", nameOf(type),
                      " has more bytes than 64 bits count"));
  return bytes;
}

absl::Status LibraryConfig::status() {
  if (config)
    for (mlir::NamedAttribute attribute : config)
      if (!known.count(attribute.getName().str()))
        fail(absl::StrCat("its configuration has '", attribute.getName().str(), "'; it knows ",
                          absl::StrJoin(known, ", ")));
  return firstError;
}

} // namespace splitcast::runtime
