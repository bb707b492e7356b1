//===- Jsonl.h - Writes metrics, one JSON object per line -------------------===//
//
// A line is written at once, so that a reader that follows the file, or looks at it after a crash, sees whole lines.
// JSON has no numbers that are not finite. They are written as the strings "NaN", "Infinity" and "-Infinity", because a
// run that diverges must still show in its metrics.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_IO_JSONL_H
#define SPLITCAST_RUNTIME_IO_JSONL_H

#include "runtime/io/File.h"

#include <nlohmann/json.hpp>

namespace splitcast::runtime {

class JsonlWriter {
public:
  enum class Mode {
    Replace, ///< a file's contents are dropped
    Continue ///< new lines follow the old ones; a last line that was cut off is ended first
  };
  /// Opens the file, or creates it if it is missing.
  ///   Errors  those of File.h.
  static absl::StatusOr<JsonlWriter> open(const std::string &path, Mode mode = Mode::Replace);

  /// Writes `object` as a line, with its members in the order given.
  ///   Errors  InvalidArgument: it is not an object, or a string in it is not UTF-8; nothing is written. Those of
  ///           File.h.
  absl::Status write(const nlohmann::ordered_json &object);

private:
  explicit JsonlWriter(File file) : file(std::move(file)) {}

  File file;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_IO_JSONL_H
