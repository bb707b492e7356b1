//===- Batches.h - What makes the inputs of a step ------------------------------===//
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

/// Makes rows [rows.begin, rows.begin + rows.count) of an input of a step, counted from 0: row-major, all elements of
/// `to`. A row is all that one index into the first dimension has. Depends on its arguments only, so that the batches
/// are the same for any number of ranks.
template <typename T>
using BatchFill = std::function<absl::Status(int64_t step, const sbp::Interval &rows, absl::Span<T> to)>;

/// A fill for each input, which has the input's element type.
class Batches {
public:
  /// Adds an input, whose elements are T (elementTypeOf). What was added by this name before is replaced.
  template <typename T> Batches &add(std::string input, BatchFill<T> fill) {
    constexpr runtime::ElementType type = elementTypeOf<T>();
    put({std::move(input), type,
         [fill = std::move(fill)](int64_t step, const sbp::Interval &rows, absl::Span<std::byte> to) {
           return fill(step, rows, absl::Span<T>(reinterpret_cast<T *>(to.data()), to.size() / sizeof(T)));
         }});
    return *this;
  }

  /// Whether there is a fill for each input of a function, and no other; but there may be fills for `others`, the
  /// inputs of functions that run on the same batches.
  ///   Errors  InvalidArgument: an input was not added, or with another type, or what was added is no input. The
  ///           message has the names of all inputs and of all that were added.
  absl::Status check(const std::string &function, absl::Span<const TensorInfo> inputs,
                     absl::Span<const TensorInfo> others = {}) const;

  /// Makes these rows of an input at `to`, which is aligned for its elements.
  ///   Errors  InvalidArgument: the input was not added, or with another type, or `to` has not the size of the rows.
  ///           Those of the fill.
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

  std::vector<Input> added; ///< in this order
};

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_COMMON_BATCHES_H
