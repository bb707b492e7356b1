//===- SafetensorsHeader.h - The header of a safetensors file ----------------===//
//
// The reader and the writer of Safetensors.h share these conversions between a file's layout and its header's text. The
// grammar of the format is
//
//   file    ::= length header data        length: the number of the header's bytes, as 8 bytes, little-endian
//   header  ::= a JSON object, padded at its end with spaces; a member per tensor, and "__metadata__"
//   tensor  ::= name ":" {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}     offsets within data
//   data    ::= the tensors' bytes, with no gap and no overlap
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_IO_SAFETENSORSHEADER_H
#define SPLITCAST_RUNTIME_IO_SAFETENSORSHEADER_H

#include "runtime/api/ElementType.h"

#include "absl/status/statusor.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace splitcast::runtime {

/// One tensor of a file.
struct StoredTensor {
  std::string name;
  std::string dtype;               ///< the type's name in the file: "F32"
  std::optional<ElementType> type; ///< nothing for dtypes that Splitcast does not compute with, such as U8
  std::vector<int64_t> shape;
  int64_t elements = 0;
  int64_t begin = 0; ///< the first byte, counted from the start of the file
  int64_t bytes = 0;
};

struct SafetensorsLayout {
  std::vector<StoredTensor> tensors; ///< sorted by name
  std::map<std::string, std::string> metadata;
  int64_t dataBegin = 0; ///< the byte of the file at which the data begins
  int64_t fileBytes = 0;
};

/// Returns the layout that `text`, the header of a file of `fileBytes` bytes, describes.
///   Errors  InvalidArgument: the message says what is wrong, without the file's name.
absl::StatusOr<SafetensorsLayout> parseSafetensorsHeader(const std::string &text, int64_t fileBytes);

/// Fills in the layout (dtype, elements, begin, bytes, dataBegin, fileBytes) from names, types, shapes and metadata,
/// and sorts the tensors by name. Returns the file's first bytes, length and header, which are the same for the same
/// tensors, whatever their order. Data begins at a multiple of 8 bytes.
///   Errors  InvalidArgument, without the file's name: a name occurs twice, is not UTF-8 or is "__metadata__"; metadata
///           is not UTF-8; a tensor has no type; an extent is below 0; there are more than about 2^63 bytes; or the
///           header is longer than kMaxSafetensorsHeaderBytes.
absl::StatusOr<std::string> layOutSafetensors(SafetensorsLayout &layout);

/// Longer headers are neither read nor written. This one, of some 200,000 tensors, is read in a second; the format's
/// reference implementation allows 100 MB.
inline constexpr int64_t kMaxSafetensorsHeaderBytes = 20'000'000;
inline constexpr int64_t kSafetensorsLengthBytes = 8;

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_IO_SAFETENSORSHEADER_H
