#include "compiler/LaunchFiles.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace splitcast {
namespace {

std::string typeText(const sbp::Shape &shape, runtime::ElementType type) {
  return absl::StrCat(absl::StrJoin(shape, "x"), shape.empty() ? "" : " ", runtime::nameOf(type));
}

sbp::Shape boxShape(const std::vector<sbp::Interval> &box) {
  sbp::Shape shape;
  for (const sbp::Interval &interval : box)
    shape.push_back(interval.count);
  return shape;
}

absl::Status invalid(const std::string &text) { return absl::InvalidArgumentError(text); }

/// Position of the tensor of that name, or -1.
int64_t indexOf(const std::vector<TensorInfo> &tensors, const std::string &name) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == name)
      return static_cast<int64_t>(i);
  return -1;
}

/// Whether the file holds steps of the tensor.
absl::Status checkFile(const runtime::NpyFile &file, const NamedFile &named, const TensorInfo &info) {
  const std::vector<int64_t> &found = file.shape();
  bool fits = file.type() == info.type && found.size() == info.shape.size() + 1 &&
              std::equal(info.shape.begin(), info.shape.end(), found.begin() + 1);
  if (fits)
    return absl::OkStatus();
  return invalid(absl::StrCat("'", named.path, "': has ", typeText(found, file.type()), "; input '", info.name,
                              "' takes STEPSx", typeText(info.shape, info.type),
                              info.shape.empty() ? " (one value per step)" : "", "; write the file with these"));
}

/// Every name once, and one of the tensors'.
absl::Status checkNames(const std::vector<NamedFile> &files, const std::vector<TensorInfo> &tensors,
                        const std::string &function, const char *kind) {
  std::set<std::string> names;
  for (const NamedFile &file : files) {
    if (indexOf(tensors, file.name) < 0)
      return invalid(absl::StrCat("--", kind, "=", file.name, "=", file.path, ": function '", function, "' has no ",
                                  kind, " '", file.name, "'; its ", kind, "s are ", listTensors(tensors)));
    if (!names.insert(file.name).second)
      return invalid(
          absl::StrCat("--", kind, "=", file.name, "=", file.path, ": '", file.name, "' is given twice; give it once"));
  }
  return absl::OkStatus();
}

} // namespace

absl::Status forEachRow(const sbp::Shape &shape, const std::vector<sbp::Interval> &box,
                        const std::function<absl::Status(const sbp::Run &)> &visit) {
  const int64_t total = sbp::numElements(boxShape(box));
  // Dimensions from `inner` on are whole: they make one row with the dimension before.
  size_t inner = shape.size();
  while (inner > 0 && box[inner - 1].count == shape[inner - 1])
    --inner;
  inner = inner > 0 ? inner - 1 : 0;
  int64_t count = 1;
  for (size_t d = inner; d < shape.size(); ++d)
    count *= box[d].count;
  for (int64_t local = 0; local < total; local += count) {
    int64_t logical = 0, rest = local, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      logical += (box[d].begin + rest % box[d].count) * stride;
      rest /= box[d].count;
      stride *= shape[d];
    }
    if (absl::Status status = visit({logical, local, count}); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

std::string listTensors(const std::vector<TensorInfo> &tensors) {
  if (tensors.empty())
    return "none";
  return absl::StrJoin(tensors, ", ", [](std::string *out, const TensorInfo &info) {
    absl::StrAppend(out, "'", info.name, "' (", typeText(info.shape, info.type), ")");
  });
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

absl::StatusOr<StepInputs> StepInputs::open(const Session &session, const std::string &function,
                                            const std::vector<NamedFile> &files) {
  absl::StatusOr<std::vector<TensorInfo>> infos = session.inputs(function);
  if (!infos.ok())
    return infos.status();
  if (absl::Status status = checkNames(files, *infos, function, "input"); !status.ok())
    return status;
  StepInputs result;
  result.function = function;
  for (const TensorInfo &info : *infos) {
    auto named =
        std::find_if(files.begin(), files.end(), [&](const NamedFile &file) { return file.name == info.name; });
    if (named == files.end())
      return invalid(absl::StrCat("input '", info.name, "' of function '", function, "' has no file; give --input=",
                                  info.name, "=FILE.npy of shape STEPSx", typeText(info.shape, info.type)));
    absl::StatusOr<runtime::NpyFile> file = runtime::NpyFile::open(named->path);
    if (!file.ok())
      return file.status();
    if (absl::Status status = checkFile(*file, *named, info); !status.ok())
      return status;
    std::vector<std::byte> piece(info.localBytes);
    result.inputs.push_back({info, named->path, *std::move(file), std::move(piece)});
  }
  return result;
}

const StepInputs::Input &StepInputs::shortest() const {
  return *std::min_element(inputs.begin(), inputs.end(),
                           [](const Input &a, const Input &b) { return a.file.shape()[0] < b.file.shape()[0]; });
}

int64_t StepInputs::steps() const { return shortest().file.shape()[0]; }
const std::string &StepInputs::shortestPath() const { return shortest().path; }

absl::Status StepInputs::feed(Session &session, int64_t step) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    Input &input = inputs[i];
    const int64_t elementBytes = runtime::bytesOf(input.info.type);
    const int64_t stepBegin = step * sbp::numElements(input.info.shape);
    absl::Status status = forEachRow(input.info.shape, input.info.box, [&](const sbp::Run &row) {
      return input.file.read(stepBegin + row.logical, row.count, input.piece.data() + row.local * elementBytes);
    });
    if (status.ok())
      status = session.setInput(function, i, input.piece.data());
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

absl::StatusOr<StepOutputs> StepOutputs::open(const Session &session, const std::string &function,
                                              const std::vector<NamedFile> &files,
                                              runtime::Communicator &communicator) {
  absl::StatusOr<std::vector<TensorInfo>> infos = session.outputs(function);
  if (!infos.ok())
    return infos.status();
  if (absl::Status status = checkNames(files, *infos, function, "output"); !status.ok())
    return status;
  StepOutputs result;
  result.function = function;
  for (const NamedFile &file : files) {
    Output output;
    output.index = static_cast<size_t>(indexOf(*infos, file.name));
    output.info = (*infos)[output.index];
    output.piece.resize(output.info.localBytes);
    if (absl::Status status = shareBoxes(output, communicator); !status.ok())
      return status;
    if (communicator.rank() == 0) {
      absl::StatusOr<runtime::NpyWriter> writer =
          runtime::NpyWriter::create(file.path, output.info.type, output.info.shape);
      if (!writer.ok())
        return writer.status();
      output.writer.emplace(*std::move(writer));
      output.whole.resize(sbp::numElements(output.info.shape) * runtime::bytesOf(output.info.type));
    }
    result.outputs.push_back(std::move(output));
  }
  return result;
}

/// A box as text, and back.
static std::string boxText(const std::vector<sbp::Interval> &box) {
  return absl::StrJoin(box, ",", [](std::string *out, const sbp::Interval &interval) {
    absl::StrAppend(out, interval.begin, "+", interval.count);
  });
}

static std::vector<sbp::Interval> parseBox(const std::string &text) {
  std::vector<sbp::Interval> box;
  for (absl::string_view word : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(word, absl::MaxSplits('+', 1));
    sbp::Interval interval;
    if (absl::SimpleAtoi(ends.first, &interval.begin) && absl::SimpleAtoi(ends.second, &interval.count))
      box.push_back(interval);
  }
  return box;
}

absl::Status StepOutputs::shareBoxes(Output &output, runtime::Communicator &communicator) {
  absl::StatusOr<std::vector<std::string>> all =
      communicator.exchange(boxText(output.info.box), {"pieces of output " + output.info.name});
  if (!all.ok())
    return all.status();
  std::set<std::string> seen;
  for (const std::string &text : *all)
    output.boxes.push_back(seen.insert(text).second ? std::make_optional(parseBox(text)) : std::nullopt);
  return absl::OkStatus();
}

bool StepOutputs::isElsewhere(const Output &output) {
  return std::any_of(output.boxes.begin() + 1, output.boxes.end(), [](const auto &box) { return box.has_value(); });
}

/// Copies a rank's piece to where it belongs.
static absl::Status place(const TensorInfo &info, const std::vector<sbp::Interval> &box, const std::byte *piece,
                          int64_t pieceBytes, std::vector<std::byte> &whole) {
  const int64_t elementBytes = runtime::bytesOf(info.type);
  if (pieceBytes != sbp::numElements(boxShape(box)) * elementBytes)
    return absl::InternalError(absl::StrCat("a rank's piece of output '", info.name, "' has ", pieceBytes, " bytes"));
  return forEachRow(info.shape, box, [&](const sbp::Run &row) {
    std::memcpy(whole.data() + row.logical * elementBytes, piece + row.local * elementBytes, row.count * elementBytes);
    return absl::OkStatus();
  });
}

absl::Status StepOutputs::gather(Output &output, runtime::Communicator &communicator) {
  std::string mine;
  if (output.boxes[communicator.rank()])
    mine.assign(reinterpret_cast<const char *>(output.piece.data()), output.piece.size());
  absl::StatusOr<std::vector<std::string>> all = communicator.exchange(mine, {"output " + output.info.name});
  if (!all.ok() || communicator.rank() != 0)
    return all.status();
  for (size_t rank = 0; rank < all->size(); ++rank) {
    if (!output.boxes[rank])
      continue;
    const std::string &piece = (*all)[rank];
    absl::Status status = place(output.info, *output.boxes[rank], reinterpret_cast<const std::byte *>(piece.data()),
                                static_cast<int64_t>(piece.size()), output.whole);
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status StepOutputs::write(Session &session, runtime::Communicator &communicator) {
  for (Output &output : outputs) {
    absl::Status status = session.getOutput(function, output.index, output.piece.data());
    // Where rank 0 has all of it, nothing is sent.
    if (status.ok() && isElsewhere(output))
      status = gather(output, communicator);
    if (status.ok() && output.writer)
      status = output.writer->append(1, isElsewhere(output) ? output.whole.data() : output.piece.data());
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status StepOutputs::commit() {
  for (Output &output : outputs)
    if (output.writer)
      if (absl::Status status = output.writer->commit(); !status.ok())
        return status;
  return absl::OkStatus();
}

} // namespace splitcast
