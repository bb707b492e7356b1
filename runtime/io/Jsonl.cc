#include "runtime/io/Jsonl.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <cmath>

namespace splitcast::runtime {

using Json = nlohmann::ordered_json;

absl::StatusOr<JsonlWriter> JsonlWriter::open(const std::string &path, Mode mode) {
  SPLITCAST_ASSIGN_OR_RETURN(File file, File::openForAppending(path, mode == Mode::Replace));
  SPLITCAST_ASSIGN_OR_RETURN(int64_t bytes, file.sizeBytes());
  char last = '\n';
  if (bytes > 0)
    SPLITCAST_RETURN_IF_ERROR(file.readAt(bytes - 1, 1, &last));
  if (last != '\n')
    SPLITCAST_RETURN_IF_ERROR(file.append("\n"));
  return JsonlWriter(std::move(file));
}

namespace {

/// Replaces NaN and infinities, which JSON does not have, by their names.
void nameNonFinite(Json &value) {
  if (value.is_structured()) {
    for (Json &element : value)
      nameNonFinite(element);
    return;
  }
  if (!value.is_number_float())
    return;
  double number = value.get<double>();
  if (std::isnan(number))
    value = "NaN";
  else if (std::isinf(number))
    value = number > 0 ? "Infinity" : "-Infinity";
}

} // namespace

absl::Status JsonlWriter::write(const Json &object) {
  if (!object.is_object())
    return fileError(absl::StatusCode::kInvalidArgument, file.path(),
                     absl::StrCat("cannot write a JSON ", object.type_name(),
                                  " as a line; every line must be an object: give names to the values"));
  Json named = object;
  nameNonFinite(named);
  // Strict dumping would throw for a string that is not UTF-8. So bad bytes are
  // dropped here, and then found by parsing the line again.
  std::string line = named.dump(-1, ' ', false, Json::error_handler_t::ignore);
  if (Json::parse(line, nullptr, false) != named)
    return fileError(absl::StatusCode::kInvalidArgument, file.path(),
                     absl::StrCat("the line ", line, " has a string that is not UTF-8, which JSON does not allow"));
  return file.append(line + "\n");
}

} // namespace splitcast::runtime
