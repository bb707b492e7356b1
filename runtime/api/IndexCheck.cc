#include "runtime/api/IndexCheck.h"

#include "runtime/api/LibraryConfig.h"

#include "absl/strings/str_cat.h"

namespace splitcast::runtime {

absl::StatusOr<IndexCheck> IndexCheck::from(mlir::DictionaryAttr attribute) {
  LibraryConfig config(kName, attribute);
  IndexCheck check;
  check.count = config.count("count");
  check.places = config.count("places");
  check.type = config.type("index_type");
  check.what = config.text("what");
  check.ignored = config.optionalNumber("ignored");
  if (absl::Status status = config.status(); !status.ok())
    return status;
  if (check.type != ElementType::I64 && check.type != ElementType::I32)
    return absl::InvalidArgumentError(
        absl::StrCat("library call '", kName, "': indices are i32 or i64, not ", nameOf(check.type)));
  return check;
}

absl::Status IndexCheck::refuse(int64_t position, const std::string &index) const {
  return absl::InvalidArgumentError(absl::StrCat("'", what, "': index ", position, " of its input is ", index,
                                                 "; it must be from 0 to ", places - 1,
                                                 ": check the data, or enlarge the table"));
}

} // namespace splitcast::runtime
