//===- LaunchFiles.h - Inputs and outputs of steps as .npy files -------------===//
//
// The leading dimension of a file is the step; the others are those of the whole tensor: for x of 128x256, 100 steps
// are a file of 100x128x256, whatever the number of ranks. Each rank reads only its own piece of every step. Rank 0
// collects outputs, a part of a step at a time.
//
// Only one thread at a time may use these objects, and that is the session's.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_LAUNCHFILES_H
#define SPLITCAST_COMPILER_LAUNCH_LAUNCHFILES_H

#include "compiler/launch/Session.h"
#include "runtime/io/Npy.h"

#include <functional>

namespace splitcast {

/// --input=NAME=FILE, or --output=NAME=FILE.
struct NamedFile {
  std::string name, path;
};

/// Calls `visit` for every row of each box in a tensor of this shape, in row-major order. A row is `count` elements
/// that are contiguous both in the tensor, from `logical` on, and in the concatenated boxes, from `local` on. Stops at
/// the first error.
absl::Status forEachRow(const sbp::Shape &shape, const std::vector<sbp::Box> &boxes,
                        const std::function<absl::Status(const sbp::Run &)> &visit);

/// Like forEachRow, but visits only elements [begin, begin + count) of the tensor.
absl::Status forEachRowWithin(const sbp::Shape &shape, const std::vector<sbp::Box> &boxes, int64_t begin, int64_t count,
                              const std::function<absl::Status(const sbp::Run &)> &visit);

/// "the inputs are 'x' (4x8 f32), 'y' (4 i64)", for messages.
std::string listTensors(const std::vector<TensorInfo> &tensors);

/// Checks that no file is written twice, or both read and written, even under two names. Empty paths and devices, such
/// as /dev/null, are ignored.
///   Errors  InvalidArgument: there is such a file.
absl::Status checkDistinctFiles(const std::vector<std::string> &read, const std::vector<std::string> &written);

/// Checks that no file is written into a directory of checkpoints, where it could replace one. Empty paths and
/// directories are ignored.
///   Errors  InvalidArgument: there is such a file.
absl::Status checkOutside(const std::vector<std::string> &written, const std::vector<std::string> &directories);

class StepInputs {
public:
  /// Every input of the function comes from one of the files, which this rank opens for itself. It asks no other rank.
  ///   Errors  NotFound: there is no such function. InvalidArgument: an input has no file, a file has no input, or its
  ///           input has another type or shape. Those of NpyFile.
  static absl::StatusOr<StepInputs> open(const Session &session, const std::string &function,
                                         const std::vector<NamedFile> &files);

  bool isEmpty() const { return inputs.empty(); }
  /// The number of steps in the shortest file. There must be a file.
  int64_t steps() const;
  const std::string &shortestPath() const;

  /// Reads the inputs of step `step`, from 0 to steps() - 1, into the session's input pieces. It asks no other rank.
  ///   Errors  those of NpyFile::read; some pieces may then have been read.
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
  /// Rank 0 makes the files, which appear on commit(). All ranks call it, and then write() after each step. An output
  /// that is spread over several ranks is collected in parts of at most `partBytes`.
  ///   Errors  InvalidArgument: the function has no such output, or an output is named twice. On rank 0 only: those of
  ///           NpyWriter; callers must agree on this status themselves, since the other ranks do not wait for it.
  static absl::StatusOr<StepOutputs> open(const Session &session, const std::string &function,
                                          const std::vector<NamedFile> &files, runtime::Communicator &communicator,
                                          int64_t partBytes = int64_t{1} << 20);

  /// Writes the outputs of the function's last run as the next step. Every rank calls it.
  ///   Errors  those of Communicator::exchange; those of NpyWriter, on all ranks if any output is spread over several
  ///           ranks. Otherwise on rank 0 alone: the other ranks wait for rank 0, whose process must then end
  ///           (Launch.h).
  absl::Status write(Session &session, runtime::Communicator &communicator);
  /// Rank 0 gives the files their names, one after the other; the other ranks do nothing. The ranks first agree that
  /// none has failed: this call does not ask them. After an error some files may be there. Without this call there are
  /// none.
  ///   Errors  on rank 0 alone: those of NpyWriter.
  absl::Status commit();

private:
  struct Output {
    size_t index = 0;
    TensorInfo info;
    /// The boxes of each rank; absent if an earlier rank has the same ones.
    std::vector<std::optional<std::vector<sbp::Box>>> boxes;
    std::optional<runtime::NpyWriter> writer; ///< on rank 0 only

    absl::Status makeFile(const std::string &path);
  };
  static absl::Status shareBoxes(Output &output, runtime::Communicator &communicator);
  /// Returns errors of the exchanges alone; `written` becomes what keeps rank 0 from writing.
  absl::Status gather(Output &output, absl::Span<const std::byte> piece, runtime::Communicator &communicator,
                      absl::Status &written) const;
  static bool isScattered(const Output &output);

  std::string function;
  int64_t partBytes = 0;
  std::vector<Output> outputs;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_LAUNCHFILES_H
