//===- LaunchFiles.h - Inputs and outputs of steps as .npy files -------------===//
//
// The leading dimension of a file is the step; the others are those of the tensor, whole: x: 128x256 over 100 steps is
// a file of 100x128x256, whatever the ranks. Each rank reads only its own piece of every step; outputs are put together
// by rank 0, a part of a step at a time.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_LAUNCHFILES_H
#define SPLITCAST_COMPILER_LAUNCH_LAUNCHFILES_H

#include "compiler/launch/Session.h"
#include "runtime/io/Npy.h"

#include <functional>

namespace splitcast {

/// --input=NAME=FILE
struct NamedFile {
  std::string name, path;
};

/// Calls `visit` for every row of each box in a tensor of this shape, in row-major order: `count` elements that lie in
/// a row both in the tensor, from `logical` on, and in the boxes one after the other, from `local` on. Stops at the
/// first error.
absl::Status forEachRow(const sbp::Shape &shape, const std::vector<sbp::Box> &boxes,
                        const std::function<absl::Status(const sbp::Run &)> &visit);

/// Likewise, only what lies among elements [begin, begin + count) of the tensor.
absl::Status forEachRowWithin(const sbp::Shape &shape, const std::vector<sbp::Box> &boxes, int64_t begin, int64_t count,
                              const std::function<absl::Status(const sbp::Run &)> &visit);

/// "the inputs are 'x' (4x8 f32), 'y' (4 i64)", for messages.
std::string listTensors(const std::vector<TensorInfo> &tensors);

/// InvalidArgument if a file is to be written twice, or to be read and written, under whatever names. Empty paths are
/// none.
absl::Status checkDistinctFiles(const std::vector<std::string> &read, const std::vector<std::string> &written);

class StepInputs {
public:
  /// Every input of the function comes from one of the files.
  ///   Errors  InvalidArgument: an input has no file, a file no input, or one of another type or shape. Those of
  ///   NpyFile.
  static absl::StatusOr<StepInputs> open(const Session &session, const std::string &function,
                                         const std::vector<NamedFile> &files);

  bool isEmpty() const { return inputs.empty(); }
  /// Of the shortest file; requires that there is one.
  int64_t steps() const;
  const std::string &shortestPath() const;

  /// Reads the inputs of step `step`, below steps(), to where the session wants them.
  absl::Status feed(Session &session, int64_t step);

private:
  struct Input {
    TensorInfo info;
    std::string path;
    runtime::NpyFile file;
  };
  const Input &shortest() const;

  std::string function;
  std::vector<Input> inputs;
};

class StepOutputs {
public:
  /// Rank 0 makes the files, which appear on commit(). All ranks call it, and then write() after each step. What lies
  /// on several ranks is put together in parts of at most `partBytes`.
  ///   Errors  InvalidArgument: no such output, or one twice. On rank 0 alone: those of NpyWriter, for callers to agree
  ///           about; other ranks do not wait for it.
  static absl::StatusOr<StepOutputs> open(const Session &session, const std::string &function,
                                          const std::vector<NamedFile> &files, runtime::Communicator &communicator,
                                          int64_t partBytes = int64_t{1} << 20);

  absl::Status write(Session &session, runtime::Communicator &communicator);
  absl::Status commit();

private:
  struct Output {
    size_t index = 0;
    TensorInfo info;
    /// Of every rank; none where an earlier one has the same.
    std::vector<std::optional<std::vector<sbp::Box>>> boxes;
    std::optional<runtime::NpyWriter> writer; ///< of rank 0

    absl::Status makeFile(const std::string &path);
  };
  static absl::Status shareBoxes(Output &output, runtime::Communicator &communicator);
  absl::Status gather(Output &output, absl::Span<const std::byte> piece, runtime::Communicator &communicator) const;
  static bool isScattered(const Output &output);

  std::string function;
  int64_t partBytes = 0;
  std::vector<Output> outputs;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_LAUNCHFILES_H
