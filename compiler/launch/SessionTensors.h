//===- SessionTensors.h - Inputs and outputs of a session, by name, as elements ---------===//
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
#include "runtime/api/StatusMacros.h" // for who includes this, too

namespace splitcast {

/// Options of a session that keeps its kernels, runs on as many threads and is observed as the flags of the job say.
SessionOptions sessionOptionsOf(Launch &launch);

/// What an element is in C++: float is f32, double f64, int32_t i32, int64_t i64. Pieces of other types come as bytes,
/// from inputPieceOf and outputPieceOf.
template <typename T> constexpr runtime::ElementType elementTypeOf();
template <> constexpr runtime::ElementType elementTypeOf<float>() { return runtime::ElementType::F32; }
template <> constexpr runtime::ElementType elementTypeOf<double>() { return runtime::ElementType::F64; }
template <> constexpr runtime::ElementType elementTypeOf<int32_t>() { return runtime::ElementType::I32; }
template <> constexpr runtime::ElementType elementTypeOf<int64_t>() { return runtime::ElementType::I64; }

/// This rank's piece of an input, zero at first. What is written to it is used by each run until it is written again.
template <typename T> struct InputPiece {
  absl::Span<T> elements;      ///< the session's; box after box, each row-major
  std::vector<sbp::Box> boxes; ///< which elements of the whole input these are (TensorInfo::boxes)
};

/// By bytes, of an input or output whose elements have this type. Errors are those of inputOf.
absl::StatusOr<InputPiece<std::byte>> inputPieceOf(Session &session, const std::string &function,
                                                   const std::string &name, runtime::ElementType type);
absl::StatusOr<absl::Span<const std::byte>> outputPieceOf(Session &session, const std::string &function,
                                                          const std::string &name, runtime::ElementType type);

/// An input of a function.
///   Errors  NotFound: no such function, or it has no such input; says which it has. InvalidArgument: its elements are
///           no T.
template <typename T>
absl::StatusOr<InputPiece<T>> inputOf(Session &session, const std::string &function, const std::string &name) {
  SPLITCAST_ASSIGN_OR_RETURN(InputPiece<std::byte> piece, inputPieceOf(session, function, name, elementTypeOf<T>()));
  return InputPiece<T>{{reinterpret_cast<T *>(piece.elements.data()), piece.elements.size() / sizeof(T)},
                       std::move(piece.boxes)};
}

/// This rank's piece of an output, as the last run of the function left it; zero before the first run. It lives as long
/// as the session. Errors as those of inputOf.
template <typename T>
absl::StatusOr<absl::Span<const T>> outputOf(Session &session, const std::string &function, const std::string &name) {
  SPLITCAST_ASSIGN_OR_RETURN(absl::Span<const std::byte> piece,
                             outputPieceOf(session, function, name, elementTypeOf<T>()));
  return absl::Span<const T>(reinterpret_cast<const T *>(piece.data()), piece.size() / sizeof(T));
}

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_SESSIONTENSORS_H
