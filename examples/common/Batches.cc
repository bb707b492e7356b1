#include "examples/common/Batches.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>

namespace splitcast {

template <typename Named> static std::string namesOf(absl::Span<const Named> list) {
  auto addName = [](std::string *out, const Named &each) { absl::StrAppend(out, "'", each.name, "'"); };
  return list.empty() ? "none" : absl::StrJoin(list, ", ", addName);
}

template <typename Named> static auto findName(absl::Span<const Named> list, const std::string &name) {
  return std::find_if(list.begin(), list.end(), [&](const Named &each) { return each.name == name; });
}

void Batches::put(Input input) {
  for (Input &each : added)
    if (each.name == input.name) {
      each = std::move(input);
      return;
    }
  added.push_back(std::move(input));
}

std::string Batches::names() const { return namesOf(absl::MakeConstSpan(added)); }

absl::StatusOr<const Batches::Input *> Batches::find(const TensorInfo &input) const {
  const absl::Span<const Input> all = added;
  const auto found = findName(all, input.name);
  if (found == all.end())
    return absl::InvalidArgumentError(
        absl::StrCat("the input '", input.name, "' has no fill; fills were added for ", names()));
  if (found->type != input.type)
    return absl::InvalidArgumentError(absl::StrCat("the input '", input.name, "' has elements of ",
                                                   runtime::nameOf(input.type), ", but its fill was added with ",
                                                   runtime::nameOf(found->type), "; add it with the input's type"));
  return &*found;
}

absl::Status Batches::check(const std::string &function, absl::Span<const TensorInfo> inputs,
                            absl::Span<const TensorInfo> others) const {
  const std::string whose = absl::StrCat("@", function, ", whose inputs are ", namesOf(inputs), ": ");
  for (const TensorInfo &input : inputs)
    if (const absl::Status status = find(input).status(); !status.ok())
      return absl::Status(status.code(), absl::StrCat(whose, status.message()));
  for (const Input &each : added)
    if (findName(inputs, each.name) == inputs.end() && findName(others, each.name) == others.end())
      return absl::InvalidArgumentError(
          absl::StrCat(whose, "'", each.name, "' is not an input; fills were added for ", names()));
  return absl::OkStatus();
}

absl::Status Batches::make(const TensorInfo &input, int64_t step, const sbp::Interval &rows,
                           absl::Span<std::byte> to) const {
  SPLITCAST_ASSIGN_OR_RETURN(const Input *found, find(input));
  if (input.shape.empty())
    return absl::InvalidArgumentError(absl::StrCat("the input '", input.name, "' has no dimensions, and so no rows"));
  const int64_t rowBytes =
      sbp::numElements({input.shape.begin() + 1, input.shape.end()}) * runtime::bytesOf(input.type);
  if (static_cast<int64_t>(to.size()) != rows.count * rowBytes)
    return absl::InvalidArgumentError(absl::StrCat(rows.count, " rows of the input '", input.name, "' have ",
                                                   rows.count * rowBytes, " bytes, but there is room for ", to.size()));
  return found->fill(step, rows, to);
}

} // namespace splitcast
