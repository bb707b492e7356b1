#include "runtime/api/IndexCheck.h"

#include "runtime/api/ElementTypeFromIr.h"

#include "absl/strings/str_cat.h"

namespace splitcast::runtime {

IndexCheck IndexCheck::from(exec::CheckIndicesAttr call) {
  return {call.getCount(), call.getPlaces(), *elementTypeOf(call.getType()), call.getIgnored(), call.getWhat().str()};
}

absl::Status IndexCheck::refuse(int64_t position, const std::string &index) const {
  return absl::InvalidArgumentError(absl::StrCat("'", what, "': index ", position, " of its input is ", index,
                                                 "; it must be from 0 to ", places - 1,
                                                 ": check the data, or enlarge the table"));
}

} // namespace splitcast::runtime
