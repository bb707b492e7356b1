//===- SessionTensors.h - A session's inputs and outputs by name, with typed elements ---===//
//
//   SPLITCAST_ASSIGN_OR_RETURN(InputPiece<float> x, inputOf<float>(*session, "main", "x"));
//   for (float &element : x.elements) ...
//   SPLITCAST_RETURN_IF_ERROR(session->run("main"));
//   SPLITCAST_ASSIGN_OR_RETURN(absl::Span<const float> loss, outputOf<float>(*session, "main", "loss"));
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_SESSIONTENSORS_H
#define SPLITCAST_COMPILER_LAUNCH_SESSIONTENSORS_H

#include "compiler/launch/Launch.h"
#include "compiler/launch/Session.h"
#include "runtime/api/StatusMacros.h" // also for files that include this one

namespace splitcast {

/// Returns the options for a session of this job: the number of threads, the observer (--profile) and the file of the
/// reproducer (--reproducer), which follow from the job's flags. All others have their defaults.
SessionOptions sessionOptionsOf(Launch &launch);

/// The element type of a C++ type: float is f32, double f64, int32_t i32, and int64_t i64. For other element types, use
/// inputPieceOf and outputPieceOf, which return bytes.
template <typename T> constexpr runtime::ElementType elementTypeOf();
template <> constexpr runtime::ElementType elementTypeOf<float>() { return runtime::ElementType::F32; }
template <> constexpr runtime::ElementType elementTypeOf<double>() { return runtime::ElementType::F64; }
template <> constexpr runtime::ElementType elementTypeOf<int32_t>() { return runtime::ElementType::I32; }
template <> constexpr runtime::ElementType elementTypeOf<int64_t>() { return runtime::ElementType::I64; }

/// This rank's piece of an input. It is zero at first. Every run uses what was written last.
template <typename T> struct InputPiece {
  absl::Span<T> elements;      ///< owned by the session; one box after the other, each row-major
  std::vector<sbp::Box> boxes; ///< which elements of the whole input these are (TensorInfo::boxes)
};

/// Return this rank's piece of an input or output, as bytes. `type` must be its element type. Errors are those of
/// inputOf.
absl::StatusOr<InputPiece<std::byte>> inputPieceOf(Session &session, const std::string &function,
                                                   const std::string &name, runtime::ElementType type);
absl::StatusOr<absl::Span<const std::byte>> outputPieceOf(Session &session, const std::string &function,
                                                          const std::string &name, runtime::ElementType type);

/// Returns this rank's piece of an input.
///   Errors  NotFound: there is no such function, or it has no such input; the message lists its inputs.
///           InvalidArgument: the input's elements are not of type T.
template <typename T>
absl::StatusOr<InputPiece<T>> inputOf(Session &session, const std::string &function, const std::string &name) {
  SPLITCAST_ASSIGN_OR_RETURN(InputPiece<std::byte> piece, inputPieceOf(session, function, name, elementTypeOf<T>()));
  return InputPiece<T>{{reinterpret_cast<T *>(piece.elements.data()), piece.elements.size() / sizeof(T)},
                       std::move(piece.boxes)};
}

/// Returns this rank's piece of an output, as the function's last run left it; zeros before the first run. It lives as
/// long as the session. Errors are those of inputOf.
template <typename T>
absl::StatusOr<absl::Span<const T>> outputOf(Session &session, const std::string &function, const std::string &name) {
  SPLITCAST_ASSIGN_OR_RETURN(absl::Span<const std::byte> piece,
                             outputPieceOf(session, function, name, elementTypeOf<T>()));
  return absl::Span<const T>(reinterpret_cast<const T *>(piece.data()), piece.size() / sizeof(T));
}

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_SESSIONTENSORS_H
