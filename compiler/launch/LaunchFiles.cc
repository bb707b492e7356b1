#include "compiler/launch/LaunchFiles.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

namespace splitcast {
namespace {

std::string typeText(const sbp::Shape &shape, runtime::ElementType type) {
  return absl::StrCat(absl::StrJoin(shape, "x"), shape.empty() ? "" : " ", runtime::nameOf(type));
}

sbp::Shape boxShape(const sbp::Box &box) {
  sbp::Shape shape;
  for (const sbp::Interval &interval : box)
    shape.push_back(interval.count);
  return shape;
}

absl::Status invalid(const std::string &text) { return absl::InvalidArgumentError(text); }

/// Returns the index of the tensor of this name, or -1.
int64_t indexOf(const std::vector<TensorInfo> &tensors, const std::string &name) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == name)
      return static_cast<int64_t>(i);
  return -1;
}

/// Checks that the file has the tensor's shape and type, for some number of
/// steps.
absl::Status checkFile(const runtime::NpyFile &file, const NamedFile &named, const TensorInfo &info) {
  const std::vector<int64_t> &found = file.shape();
  bool fits = file.type() == info.type && found.size() == info.shape.size() + 1 &&
              std::equal(info.shape.begin(), info.shape.end(), found.begin() + 1);
  if (fits)
    return absl::OkStatus();
  return invalid(absl::StrCat("'", named.path, "': has ", typeText(found, file.type()), "; input '", info.name,
                              "' takes STEPSx", typeText(info.shape, info.type),
                              info.shape.empty() ? " (one value per step)" : "",
                              "; write the file with this shape and type"));
}

/// Checks that every name is given once and is the name of a tensor.
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

namespace {

/// The rows of a box in a tensor, in row-major order. All have the same number
/// of elements, which are consecutive in the tensor and in the box.
class BoxRows {
public:
  BoxRows(const sbp::Shape &shape, const sbp::Box &box)
      : shape(shape), box(box), elements(sbp::numElements(boxShape(box))) {
    // The box has all of the dimensions behind `inner`, so these form one row
    // with dimension `inner`.
    size_t inner = shape.size();
    while (inner > 0 && box[inner - 1].count == shape[inner - 1])
      --inner;
    inner = inner > 0 ? inner - 1 : 0;
    for (size_t d = inner; d < shape.size(); ++d)
      rowElements *= box[d].count;
  }

  int64_t size() const { return elements == 0 ? 0 : elements / rowElements; }
  int64_t numElements() const { return elements; }

  sbp::Run operator[](int64_t row) const {
    const int64_t local = row * rowElements;
    int64_t logical = 0, rest = local, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      logical += (box[d].begin + rest % box[d].count) * stride;
      rest /= box[d].count;
      stride *= shape[d];
    }
    return {logical, local, rowElements};
  }

  /// Returns the number of the first row that ends behind element `logical` of
  /// the tensor.
  int64_t firstBeyond(int64_t logical) const {
    int64_t from = 0, to = size();
    while (from < to) {
      const int64_t middle = (from + to) / 2;
      if ((*this)[middle].logical + rowElements > logical)
        to = middle;
      else
        from = middle + 1;
    }
    return from;
  }

private:
  const sbp::Shape &shape;
  const sbp::Box &box;
  int64_t elements, rowElements = 1;
};

} // namespace

absl::Status forEachRow(const sbp::Shape &shape, const std::vector<sbp::Box> &boxes,
                        const std::function<absl::Status(const sbp::Run &)> &visit) {
  return forEachRowWithin(shape, boxes, 0, sbp::numElements(shape), visit);
}

/// Visits the rows of one box, whose elements begin at `local`.
static absl::Status forEachRowOf(const BoxRows &rows, int64_t local, int64_t begin, int64_t count,
                                 const std::function<absl::Status(const sbp::Run &)> &visit) {
  for (int64_t i = rows.firstBeyond(begin); i < rows.size(); ++i) {
    const sbp::Run row = rows[i];
    const int64_t before = std::max<int64_t>(0, begin - row.logical);
    const int64_t end = std::min(row.count, begin + count - row.logical);
    if (end <= before)
      break;
    SPLITCAST_RETURN_IF_ERROR(visit({row.logical + before, local + row.local + before, end - before}));
  }
  return absl::OkStatus();
}

absl::Status forEachRowWithin(const sbp::Shape &shape, const std::vector<sbp::Box> &boxes, int64_t begin, int64_t count,
                              const std::function<absl::Status(const sbp::Run &)> &visit) {
  int64_t local = 0;
  for (const sbp::Box &box : boxes) {
    const BoxRows rows(shape, box);
    SPLITCAST_RETURN_IF_ERROR(forEachRowOf(rows, local, begin, count, visit));
    local += rows.numElements();
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

/// Returns whether two paths name the same file, which may not exist yet.
static bool isSameFile(const std::string &a, const std::string &b) {
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error))
    return true;
  auto canonical = [&](const std::string &path) {
    std::filesystem::path file = std::filesystem::absolute(path, error);
    for (int links = 0; links < 40 && std::filesystem::is_symlink(file, error);
         ++links) // follows links to missing files, too
      file = file.parent_path() / std::filesystem::read_symlink(file, error);
    return std::filesystem::weakly_canonical(file, error);
  };
  return canonical(a) == canonical(b);
}

/// Whether something is there that keeps nothing, such as /dev/null.
static bool isNoFile(const std::string &path) {
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::status(path, error);
  return std::filesystem::exists(found) && !std::filesystem::is_regular_file(found) &&
         !std::filesystem::is_directory(found);
}

absl::Status checkDistinctFiles(const std::vector<std::string> &read, const std::vector<std::string> &written) {
  for (size_t i = 0; i < written.size(); ++i) {
    auto isThat = [&](const std::string &other) { return !other.empty() && isSameFile(written[i], other); };
    if (written[i].empty() || isNoFile(written[i]))
      continue;
    if (std::any_of(written.begin(), written.begin() + i, isThat))
      return absl::InvalidArgumentError(
          absl::StrCat("'", written[i], "' is to be written twice; give each output a file of its own"));
    if (std::any_of(read.begin(), read.end(), isThat))
      return absl::InvalidArgumentError(
          absl::StrCat("'", written[i], "' is to be read and to be written; give the output a file of its own"));
  }
  return absl::OkStatus();
}

absl::Status checkOutside(const std::vector<std::string> &written, const std::vector<std::string> &directories) {
  for (const std::string &path : written)
    for (const std::string &directory : directories)
      if (!path.empty() && !directory.empty() && !isNoFile(path) &&
          isSameFile(std::filesystem::absolute(path).parent_path().string(), directory))
        return absl::InvalidArgumentError(absl::StrCat("'", path, "' is to be written into '", directory,
                                                       "', which belongs to checkpoints; write it elsewhere"));
  return absl::OkStatus();
}

absl::StatusOr<StepInputs> StepInputs::open(const Session &session, const std::string &function,
                                            const std::vector<NamedFile> &files) {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<TensorInfo> infos, session.inputs(function));
  SPLITCAST_RETURN_IF_ERROR(checkNames(files, infos, function, "input"));
  StepInputs result;
  result.function = function;
  for (const TensorInfo &info : infos) {
    auto named =
        std::find_if(files.begin(), files.end(), [&](const NamedFile &file) { return file.name == info.name; });
    if (named == files.end())
      return invalid(absl::StrCat("input '", info.name, "' of function '", function, "' has no file; give --input=",
                                  info.name, "=FILE.npy of shape STEPSx", typeText(info.shape, info.type)));
    SPLITCAST_ASSIGN_OR_RETURN(runtime::NpyFile file, runtime::NpyFile::open(named->path));
    SPLITCAST_RETURN_IF_ERROR(checkFile(file, *named, info));
    result.inputs.push_back({info, named->path, std::move(file)});
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
    const Input &input = inputs[i];
    const int64_t elementBytes = runtime::bytesOf(input.info.type);
    const int64_t stepBegin = step * sbp::numElements(input.info.shape);
    SPLITCAST_ASSIGN_OR_RETURN(absl::Span<std::byte> piece, session.inputPiece(function, i));
    SPLITCAST_RETURN_IF_ERROR(forEachRow(input.info.shape, input.info.boxes, [&](const sbp::Run &row) {
      return input.file.read(stepBegin + row.logical, row.count, piece.data() + row.local * elementBytes);
    }));
  }
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

absl::StatusOr<StepOutputs> StepOutputs::open(const Session &session, const std::string &function,
                                              const std::vector<NamedFile> &files, runtime::Communicator &communicator,
                                              int64_t partBytes) {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<TensorInfo> infos, session.outputs(function));
  SPLITCAST_RETURN_IF_ERROR(checkNames(files, infos, function, "output"));
  StepOutputs result;
  result.function = function;
  result.partBytes = partBytes;
  for (const NamedFile &file : files) {
    Output output;
    output.index = static_cast<size_t>(indexOf(infos, file.name));
    output.info = infos[output.index];
    SPLITCAST_RETURN_IF_ERROR(shareBoxes(output, communicator));
    result.outputs.push_back(std::move(output));
  }
  // After the last exchange: if rank 0 cannot create a file, no rank waits for
  // its boxes.
  if (communicator.rank() != 0)
    return result;
  for (size_t i = 0; i < files.size(); ++i)
    SPLITCAST_RETURN_IF_ERROR(result.outputs[i].makeFile(files[i].path));
  return result;
}

absl::Status StepOutputs::Output::makeFile(const std::string &path) {
  SPLITCAST_ASSIGN_OR_RETURN(runtime::NpyWriter made, runtime::NpyWriter::create(path, info.type, info.shape));
  writer.emplace(std::move(made));
  return absl::OkStatus();
}

/// Returns the boxes as a text such as "0+4,0+8;12+4,0+8", which parseBoxes
/// reads.
static std::string boxesText(const std::vector<sbp::Box> &boxes) {
  return absl::StrJoin(boxes, ";", [](std::string *all, const sbp::Box &box) {
    absl::StrAppend(all, absl::StrJoin(box, ",", [](std::string *out, const sbp::Interval &interval) {
                      absl::StrAppend(out, interval.begin, "+", interval.count);
                    }));
  });
}

static std::vector<sbp::Box> parseBoxes(const std::string &text) {
  std::vector<sbp::Box> boxes;
  for (absl::string_view part : absl::StrSplit(text, ';')) {
    sbp::Box &box = boxes.emplace_back();
    for (absl::string_view word : absl::StrSplit(part, ',', absl::SkipEmpty())) {
      std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(word, absl::MaxSplits('+', 1));
      sbp::Interval interval;
      if (absl::SimpleAtoi(ends.first, &interval.begin) && absl::SimpleAtoi(ends.second, &interval.count))
        box.push_back(interval);
    }
  }
  return boxes;
}

absl::Status StepOutputs::shareBoxes(Output &output, runtime::Communicator &communicator) {
  SPLITCAST_ASSIGN_OR_RETURN(
      std::vector<std::string> all,
      communicator.exchange(boxesText(output.info.boxes), {"pieces of output " + output.info.name}));
  std::set<std::string> seen;
  for (const std::string &text : all)
    output.boxes.push_back(seen.insert(text).second ? std::make_optional(parseBoxes(text)) : std::nullopt);
  return absl::OkStatus();
}

bool StepOutputs::isScattered(const Output &output) {
  return output.info.boxes.size() > 1 ||
         std::any_of(output.boxes.begin() + 1, output.boxes.end(), [](const auto &boxes) { return boxes.has_value(); });
}

/// Copies what a rank sent, its elements among [begin, begin + count) of the
/// tensor, to their places in `part`.
static absl::Status place(const TensorInfo &info, const std::vector<sbp::Box> &boxes, int64_t begin, int64_t count,
                          const std::string &sent, std::vector<char> &part) {
  const int64_t elementBytes = runtime::bytesOf(info.type);
  int64_t at = 0; // ends beyond what was sent if that is too short
  absl::Status status = forEachRowWithin(info.shape, boxes, begin, count, [&](const sbp::Run &row) {
    const int64_t bytes = row.count * elementBytes;
    if (at + bytes <= static_cast<int64_t>(sent.size()))
      std::memcpy(part.data() + (row.logical - begin) * elementBytes, sent.data() + at, bytes);
    at += bytes;
    return absl::OkStatus();
  });
  if (at != static_cast<int64_t>(sent.size()))
    return absl::InternalError(absl::StrCat("a rank's part of output '", info.name, "' has ", at,
                                            " bytes, but it sent ", sent.size(), "; please report this"));
  return status;
}

absl::Status StepOutputs::gather(Output &output, absl::Span<const std::byte> piece, runtime::Communicator &communicator,
                                 absl::Status &written) const {
  const TensorInfo &info = output.info;
  const int64_t elements = sbp::numElements(info.shape), elementBytes = runtime::bytesOf(info.type);
  const int64_t most = std::max<int64_t>(1, partBytes / elementBytes);
  std::vector<char> part(std::min(most, elements) * elementBytes);
  for (int64_t begin = 0; begin < elements; begin += most) {
    const int64_t count = std::min(most, elements - begin);
    std::string mine;
    if (const auto &boxes = output.boxes[communicator.rank()])
      SPLITCAST_RETURN_IF_ERROR(forEachRowWithin(info.shape, *boxes, begin, count, [&](const sbp::Run &row) {
        mine.append(reinterpret_cast<const char *>(piece.data()) + row.local * elementBytes, row.count * elementBytes);
        return absl::OkStatus();
      }));
    SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> all, communicator.exchange(mine, {"output " + info.name}));
    for (size_t rank = 0; written.ok() && output.writer && rank < all.size(); ++rank)
      if (output.boxes[rank])
        written = place(info, *output.boxes[rank], begin, count, all[rank], part);
    if (written.ok() && output.writer)
      written = output.writer->writePart(begin, count, part.data());
  }
  if (written.ok() && output.writer)
    written = output.writer->endRow();
  return absl::OkStatus();
}

/// Returns, on all ranks, the error of rank 0, which alone writes.
static absl::Status agree(const absl::Status &written, runtime::Communicator &communicator) {
  const std::string mine =
      written.ok() ? "" : absl::StrCat(static_cast<int>(written.code()), " ", std::string(written.message()));
  const absl::StatusOr<std::vector<std::string>> all = communicator.exchange(mine, {"writing of the outputs"});
  SPLITCAST_RETURN_IF_ERROR(written);
  SPLITCAST_RETURN_IF_ERROR(all.status());
  if (all->front().empty())
    return absl::OkStatus();
  const std::pair<std::string, std::string> failure = absl::StrSplit(all->front(), absl::MaxSplits(' ', 1));
  int code = 0;
  (void)absl::SimpleAtoi(failure.first, &code);
  return {static_cast<absl::StatusCode>(code), absl::StrCat("rank 0 failed: ", failure.second)};
}

absl::Status StepOutputs::write(Session &session, runtime::Communicator &communicator) {
  absl::Status written; // on rank 0, which takes part in every exchange even after an error
  bool isGathered = false;
  for (Output &output : outputs) {
    SPLITCAST_ASSIGN_OR_RETURN(absl::Span<const std::byte> piece, session.outputPiece(function, output.index));
    // If rank 0 has the whole output in order, nothing is sent.
    if (isScattered(output)) {
      SPLITCAST_RETURN_IF_ERROR(gather(output, piece, communicator, written));
      isGathered = true;
    } else if (output.writer && written.ok()) {
      written = output.writer->append(1, piece.data());
    }
  }
  return isGathered ? agree(written, communicator) : written;
}

absl::Status StepOutputs::commit() {
  for (Output &output : outputs)
    if (output.writer)
      SPLITCAST_RETURN_IF_ERROR(output.writer->commit());
  return absl::OkStatus();
}

} // namespace splitcast
