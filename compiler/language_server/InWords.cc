#include "compiler/language_server/InWords.h"

#include "dialects/sbp/algebra/Sizes.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace splitcast {
namespace {

/// Of a longer list, only so many numbers are shown.
constexpr size_t kMostListed = 16;

std::string countOf(int64_t number, const char *what) {
  return llvm::formatv("{0} {1}{2}", number, what, number == 1 ? "" : "s");
}

std::string listOf(const std::vector<int64_t> &numbers) {
  std::string text;
  for (size_t i = 0; i < std::min(numbers.size(), kMostListed); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return numbers.size() > kMostListed ? text + ", ..." : text;
}

/// Formats `bytes`, e.g. "160 bytes" or "4096000 bytes (3.9 MiB)".
std::string bytesText(int64_t bytes) {
  std::string text = countOf(bytes, "byte");
  static constexpr const char *kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  double scaled = static_cast<double>(bytes);
  const char *unit = nullptr;
  for (const char *larger : kUnits)
    if (scaled >= 1024) {
      scaled /= 1024;
      unit = larger;
    }
  return unit ? llvm::formatv("{0} ({1:f1} {2})", text, scaled, unit).str() : text;
}

int64_t bytesOf(const sbp::Shape &shape, mlir::Type element) {
  int64_t bytes = sbp::elementBytes(element);
  for (int64_t extent : shape) // the product may overflow: no verifier bounds the size of a type without a signature
    bytes = sbp::cappedProduct(bytes, extent);
  return bytes;
}

/// The number of bytes that each rank stores of a tensor that has a signature.
std::string pieceBytesText(mlir::RankedTensorType tensor) {
  const sbp::NdAttr signature = sbp::signatureOf(tensor);
  const sbp::Placement placement = signature.getPlacement().toAlgebra();
  const sbp::NdSbp entries = signature.toAlgebra();
  const sbp::Shape shape = sbp::shapeOf(tensor);
  std::vector<int64_t> pieces;
  for (int64_t position = 0; position < placement.numPositions(); ++position)
    pieces.push_back(bytesOf(sbp::localShape(shape, entries, placement, placement.coordinates(position)), tensor));
  const auto [least, most] = std::minmax_element(pieces.begin(), pieces.end());
  if (*least == *most)
    return bytesText(*most) + (pieces.size() == 1 ? " on the only rank" : " on each of the ranks");
  std::string text = llvm::formatv("{0} to {1} per rank", *least, bytesText(*most));
  return pieces.size() > kMostListed ? text : text + " (in the order of the mesh: " + listOf(pieces) + ")";
}

std::string inWords(const sbp::RowAxis &row) {
  const std::string unit = row.unit == 1 ? "" : llvm::formatv("; {0} iterations stay together", row.unit).str();
  switch (row.kind) {
  case sbp::RowAxis::Kind::Replicated:
    return "every rank computes all of it";
  case sbp::RowAxis::Kind::Splits:
    return llvm::formatv("the loop over dimension {0} of result {1} is split{2}", row.dim, row.tensor, unit);
  case sbp::RowAxis::Kind::Sums:
    return llvm::formatv("the loop over dimension {0} of operand {1} is split, and summed: results are addends{2}",
                         row.dim, row.tensor, unit);
  case sbp::RowAxis::Kind::Linear:
    return "operands are addends, and so are the results";
  case sbp::RowAxis::Kind::Slot:
    return "operands and results lie as slots of a bucket";
  case sbp::RowAxis::Kind::At:
    return "only the ranks at one coordinate compute";
  }
  return "";
}

std::string inWords(const sbp::Wanted &wanted) {
  const std::string name = wanted.of.getValue().str();
  switch (wanted.kind) {
  case sbp::Wanted::Kind::Operand:
    return llvm::formatv("operand {0} of `{1}` is used in this signature", wanted.number, name);
  case sbp::Wanted::Kind::Result:
    return llvm::formatv("this signature is written for result {0} of `{1}`", wanted.number, name);
  case sbp::Wanted::Kind::Forward:
    return llvm::formatv("forward reads `@{0}`, which is stored in another signature", name);
  case sbp::Wanted::Kind::Backward:
    return llvm::formatv("backward reads `@{0}`, which is stored in another signature", name);
  case sbp::Wanted::Kind::Update:
    return llvm::formatv("the update of `@{0}` computes in this signature", name);
  case sbp::Wanted::Kind::Assign:
    return llvm::formatv("`@{0}` is assigned this value", name);
  }
  return "";
}

} // namespace

std::string inWords(const sbp::Sbp &entry, int64_t ranks) {
  switch (entry.kind) {
  case sbp::Sbp::Kind::Broadcast:
    return "every rank has all of it";
  case sbp::Sbp::Kind::Partial:
    return "each rank has an addend, and the value is the sum of all";
  case sbp::Sbp::Kind::At:
    return llvm::formatv("the ranks at coordinate {0} of {1} have all of it, the others nothing", entry.dim, ranks);
  case sbp::Sbp::Kind::FlatSplit: {
    const std::string ends = entry.slot.ends.empty() ? "" : "; the chunks end at " + listOf(entry.slot.ends);
    return llvm::formatv("stored from element {0} of the {1} of bucket `@{2}`, which is cut into chunks for {3}{4}",
                         entry.slot.offset, countOf(entry.slot.total, "element"), entry.slot.bucket,
                         countOf(ranks, "rank"), ends);
  }
  case sbp::Sbp::Kind::Split:
    break;
  }
  std::string text = llvm::formatv("split along dimension {0} over {1}", entry.dim, countOf(ranks, "rank"));
  if (entry.unit != 1)
    text += llvm::formatv("; blocks of {0} stay together", entry.unit);
  return entry.ends.empty() ? text : text + "; the pieces end at " + listOf(entry.ends);
}

std::string inWords(sbp::NdAttr signature) {
  const sbp::Placement placement = signature.getPlacement().toAlgebra();
  const sbp::NdSbp entries = signature.toAlgebra();
  std::string text;
  for (size_t axis = 0; axis < entries.size(); ++axis)
    text += llvm::formatv("- {0}: {1}\n", placement.axes[axis].name, inWords(entries[axis], placement.axes[axis].size));
  return text;
}

std::string inWords(sbp::PlacementAttr attribute) {
  const sbp::Placement placement = attribute.toAlgebra();
  std::string text = "\"" + placement.deviceKind + "\"";
  for (const sbp::Axis &axis : placement.axes)
    text += llvm::formatv(", {0} = {1}", axis.name, axis.size);
  return placement.ranks.empty() ? text : text + ", on ranks " + listOf(placement.ranks);
}

std::string inWords(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor)
    return "`" + textOf(type) + "`\n";
  const sbp::NdAttr signature = sbp::signatureOf(tensor);
  std::string text = "`" + textOf(sbp::withSignature(tensor, {})) + "`";
  if (signature)
    return text + " on " + inWords(signature.getPlacement()) + "\n" + layoutInWords(tensor, signature);
  if (tensor.hasStaticShape())
    text += ", " + bytesText(bytesOf(sbp::shapeOf(tensor), tensor));
  return text + "\n\nNo signature: not decided yet, or a rank's own tensor\n";
}

std::string layoutInWords(mlir::RankedTensorType tensor, sbp::NdAttr signature) {
  DropDiagnostics silence(signature.getContext());
  mlir::RankedTensorType laidOut = mlir::RankedTensorType::getChecked(
      mlir::UnknownLoc::get(signature.getContext()), tensor.getShape(), tensor.getElementType(), signature);
  if (!laidOut)
    return "`" + textOf(mlir::Attribute(signature)) + "`, which does not fit the tensor\n";
  return llvm::formatv("{0}\n{1}; {2}\n", inWords(signature), bytesText(bytesOf(sbp::shapeOf(tensor), tensor)),
                       pieceBytesText(laidOut));
}

std::string reasonInWords(mlir::Location location) {
  if (auto row = location->findInstanceOf<mlir::FusedLocWith<sbp::RowAttr>>()) {
    std::string text = "Signatures were chosen as follows:\n";
    for (const sbp::RowAxis &axis : row.getMetadata().getAxes())
      text += llvm::formatv("- {0}: {1}\n", axis.axis.getValue(), inWords(axis));
    return text;
  }
  if (auto wanted = location->findInstanceOf<mlir::FusedLocWith<sbp::WantedAttr>>())
    return "It is here because " + inWords(wanted.getMetadata().getWanted()) + "\n";
  return "";
}

} // namespace splitcast
