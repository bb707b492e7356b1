#include "compiler/launch/SessionTensors.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace splitcast {

SessionOptions sessionOptionsOf(Launch &launch) {
  SessionOptions options;
  options.compile.reproducer = launch.options().writtenFiles(launch.rank()).back();
  options.threads = launch.threads();
  options.observer = launch.observer();
  return options;
}

/// Returns the index of a function's input or output; `kind` is "input" or
/// "output".
static absl::StatusOr<size_t> indexOf(const std::vector<TensorInfo> &tensors, const std::string &function,
                                      const char *kind, const std::string &name, runtime::ElementType type) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name != name)
      continue;
    if (tensors[i].type == type)
      return i;
    return absl::InvalidArgumentError(absl::StrCat("@", function, "'s ", kind, " '", name, "' has elements of ",
                                                   runtime::nameOf(tensors[i].type), ", but was asked for as ",
                                                   runtime::nameOf(type), "; ask for its type"));
  }
  auto addName = [](std::string *out, const TensorInfo &tensor) { absl::StrAppend(out, "'", tensor.name, "'"); };
  return absl::NotFoundError(absl::StrCat("@", function, " has no ", kind, " '", name, "'; it has ",
                                          tensors.empty() ? "none" : absl::StrJoin(tensors, ", ", addName)));
}

absl::StatusOr<InputPiece<std::byte>> inputPieceOf(Session &session, const std::string &function,
                                                   const std::string &name, runtime::ElementType type) {
  SPLITCAST_ASSIGN_OR_RETURN(const std::vector<TensorInfo> inputs, session.inputs(function));
  SPLITCAST_ASSIGN_OR_RETURN(const size_t index, indexOf(inputs, function, "input", name, type));
  SPLITCAST_ASSIGN_OR_RETURN(const absl::Span<std::byte> piece, session.inputPiece(function, index));
  return InputPiece<std::byte>{piece, inputs[index].boxes};
}

absl::StatusOr<absl::Span<const std::byte>> outputPieceOf(Session &session, const std::string &function,
                                                          const std::string &name, runtime::ElementType type) {
  SPLITCAST_ASSIGN_OR_RETURN(const std::vector<TensorInfo> outputs, session.outputs(function));
  SPLITCAST_ASSIGN_OR_RETURN(const size_t index, indexOf(outputs, function, "output", name, type));
  return session.outputPiece(function, index);
}

} // namespace splitcast
