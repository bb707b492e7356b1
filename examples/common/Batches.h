//===- Batches.h - Functions that produce the inputs of a step ------------------===//
//
//   Batches batches;
//   batches.add<int64_t>("labels", [&](int64_t step, const sbp::Interval &rows, absl::Span<int64_t> to) { ... });
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_EXAMPLES_COMMON_BATCHES_H
#define SPLITCAST_EXAMPLES_COMMON_BATCHES_H

#include "compiler/launch/Session.h"
#include "compiler/launch/SessionTensors.h"

#include <functional>

namespace splitcast {

/// Writes rows [rows.begin, rows.begin + rows.count) of a batch to `to`, row-major. A row is one index of the input's
/// first dimension. Steps and rows count from 0. A fill must depend on its arguments only: the batches are then the
/// same for any number of ranks.
template <typename T>
using BatchFill = std::function<absl::Status(int64_t step, const sbp::Interval &rows, absl::Span<T> to)>;

/// The fills of a function's inputs, one per input.
class Batches {
public:
  /// Adds the fill of an input whose elements are of type T (elementTypeOf), or replaces the one of this name.
  template <typename T> Batches &add(std::string input, BatchFill<T> fill) {
    constexpr runtime::ElementType type = elementTypeOf<T>();
    put({std::move(input), type,
         [fill = std::move(fill)](int64_t step, const sbp::Interval &rows, absl::Span<std::byte> to) {
           return fill(step, rows, absl::Span<T>(reinterpret_cast<T *>(to.data()), to.size() / sizeof(T)));
         }});
    return *this;
  }

  /// Checks that each of the function's `inputs` has a fill, and that each fill is for one of `inputs` or `others`.
  /// `others` are the inputs of further functions that run on the same batches.
  ///   Errors  InvalidArgument: an input has no fill or one of another element type, or a fill has no input. The
  ///           message lists all inputs and all fills.
  absl::Status check(const std::string &function, absl::Span<const TensorInfo> inputs,
                     absl::Span<const TensorInfo> others = {}) const;

  /// Calls the fill of an input. `to` must be aligned for the input's elements.
  ///   Errors  InvalidArgument: the input has no fill, or one of another element type, or `to` does not have the size
  ///           of the rows. Those of the fill.
  absl::Status make(const TensorInfo &input, int64_t step, const sbp::Interval &rows, absl::Span<std::byte> to) const;

private:
  struct Input {
    std::string name;
    runtime::ElementType type;
    BatchFill<std::byte> fill;
  };
  void put(Input input);
  absl::StatusOr<const Input *> find(const TensorInfo &input) const;
  std::string names() const;

  std::vector<Input> added; ///< in the order of the calls of add
};

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_COMMON_BATCHES_H
