#include "runtime/executor/Variables.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/executor/StoredType.h"
#include "runtime/io/Random.h"
#include "runtime/io/Safetensors.h"

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "llvm/ADT/APFloat.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace splitcast::runtime {

namespace {

std::string describe(ElementType type, const sbp::Shape &shape) {
  return absl::StrCat(nameOf(type), "[", absl::StrJoin(shape, ", "), "]");
}

int64_t positionOf(const sbp::Placement &placement, int64_t rank) {
  for (int64_t position = 0; position < placement.numPositions(); ++position)
    if ((placement.ranks.empty() ? position : placement.ranks[position]) == rank)
      return position;
  return 0;
}

/// Sets the position and the pieces of a rank.
void place(VariableInfo &info, int64_t rank) {
  info.position = positionOf(info.placement, rank);
  std::vector<int64_t> at = info.placement.coordinates(info.position);
  info.pieces = sbp::pieces(info.shape, info.storage, info.placement, at);
  info.ownsPieces = sbp::ownsPiece(info.storage, at);
}

absl::StatusOr<VariableInfo> infoOf(sbp::VariableOp op, int64_t rank) {
  SPLITCAST_ASSIGN_OR_RETURN(ElementType type, storedTypeOf(op.getType()));
  VariableInfo info;
  info.name = op.getSymName().str();
  info.type = type;
  info.shape = sbp::shapeOf(op.getType());
  info.placement = op.getLogical().getPlacement().toAlgebra();
  info.storage = op.getStorageOrLogical().toAlgebra();
  place(info, rank);
  info.init = op.getInitAttr();
  info.isCarried = op.getCarried();
  info.isState = op.getStateOf().has_value();
  info.isWeight = !op.getStateOf() && !(op.getFrozen() && info.shape.empty());
  return info;
}

} // namespace

int64_t VariableInfo::pieceElements() const { return pieces.empty() ? 0 : pieces.back().local + pieces.back().count; }

absl::StatusOr<std::unique_ptr<Variables>> Variables::create(mlir::ModuleOp plans, Device &device,
                                                             Communicator &communicator, const Executor &executor) {
  std::unique_ptr<Variables> result(new Variables(device, communicator));
  const exec::Spaces spaces(plans);
  const mlir::SymbolTable symbols(plans);
  for (auto storage : plans.getOps<exec::StorageOp>()) {
    if (!spaces.keeps(storage.getRange())) // carried variables, which live for one step
      continue;
    const Buffer room = executor.resolve(storage.getRange());
    for (auto [member, offset] : llvm::zip(storage.getMembers(), storage.getOffsets())) {
      auto op = symbols.lookup<sbp::VariableOp>(mlir::cast<mlir::FlatSymbolRefAttr>(member).getValue());
      SPLITCAST_ASSIGN_OR_RETURN(VariableInfo info, infoOf(op, communicator.rank()));
      const int64_t begin = offset * sbp::elementBytes(op.getType());
      info.place = room.slice(begin, room.bytes - begin);
      info.isSet = executor.sets(storage.getRange());
      result->variables.push_back(std::move(info));
    }
  }
  std::sort(result->variables.begin(), result->variables.end(),
            [](const VariableInfo &a, const VariableInfo &b) { return a.name < b.name; });
  return result;
}

absl::StatusOr<const VariableInfo *> Variables::find(const std::string &name) const {
  auto found = std::lower_bound(variables.begin(), variables.end(), name,
                                [](const VariableInfo &variable, const std::string &of) { return variable.name < of; });
  if (found != variables.end() && found->name == name)
    return &*found;
  return absl::NotFoundError(absl::StrCat("the module has no variable @", name));
}

void Variables::leaveOutOfFiles(const std::vector<std::string> &names) {
  for (VariableInfo &variable : variables)
    if (absl::c_linear_search(names, variable.name))
      variable.isLeftOut = true;
}

std::vector<const VariableInfo *> Variables::known(absl::FunctionRef<bool(const std::string &)> isThere,
                                                   std::vector<std::string> &kept) const {
  const std::vector<const VariableInfo *> all = stored();
  const bool hasState = std::any_of(all.begin(), all.end(), [&](const VariableInfo *variable) {
    return variable->isState && isThere(variable->name);
  });
  std::vector<const VariableInfo *> result;
  for (const VariableInfo *variable : all)
    if (isThere(variable->name) && (hasState || variable->isWeight))
      result.push_back(variable);
    else
      kept.push_back(variable->name);
  return result;
}

std::vector<VariableInfo> Variables::of(int64_t rank) const {
  std::vector<VariableInfo> result;
  for (const VariableInfo &variable : variables) {
    if (variable.isCarried)
      continue;
    result.push_back(variable);
    place(result.back(), rank);
  }
  return result;
}

Buffer Variables::pieceOf(const VariableInfo &variable) {
  return variable.place.slice(0, variable.pieceElements() * bytesOf(variable.type));
}

absl::Status Variables::readPieces(const VariableInfo &variable, void *data) {
  Buffer piece = pieceOf(variable);
  return piece.bytes ? device.download(data, piece) : absl::OkStatus();
}

absl::Status Variables::readPart(const VariableInfo &variable, const sbp::Interval &elements, void *data) {
  if (elements.begin < 0 || elements.count < 0 || elements.begin > variable.pieceElements() - elements.count)
    return absl::OutOfRangeError(absl::StrCat("variable @", variable.name, ": elements ", elements.begin, " to ",
                                              elements.begin + elements.count, " were asked for, but this rank has ",
                                              variable.pieceElements(), "; read only elements of its pieces"));
  const int64_t bytes = bytesOf(variable.type);
  return elements.count > 0
             ? device.download(data, pieceOf(variable).slice(elements.begin * bytes, elements.count * bytes))
             : absl::OkStatus();
}

absl::Status Variables::writePieces(const VariableInfo &variable, const void *data) {
  Buffer piece = pieceOf(variable);
  return variable.isSet && piece.bytes ? device.upload(piece, data) : absl::OkStatus();
}

absl::Status Variables::forEachPart(const VariableInfo &variable, absl::FunctionRef<absl::Status(const Part &)> visit) {
  const int64_t most = kPartBytes / bytesOf(variable.type);
  Part part;
  for (const sbp::Run &run : variable.pieces)
    for (int64_t done = 0; done < run.count;) {
      const int64_t count = std::min(run.count - done, most - part.count);
      part.runs.push_back({run.logical + done, part.count, count});
      part.count += count;
      done += count;
      if (part.count < most)
        continue;
      SPLITCAST_RETURN_IF_ERROR(visit(part));
      part = {part.begin + part.count, 0, {}};
    }
  return part.count > 0 ? visit(part) : absl::OkStatus();
}

absl::Status Variables::writeParts(const VariableInfo &variable,
                                   absl::FunctionRef<absl::Status(const Part &, std::vector<char> &)> fill) {
  const int64_t bytes = bytesOf(variable.type);
  std::vector<char> data;
  if (!variable.isSet)
    return absl::OkStatus();
  return forEachPart(variable, [&](const Part &part) {
    data.resize(part.count * bytes);
    absl::Status status = fill(part, data);
    return status.ok() ? device.upload(pieceOf(variable).slice(part.begin * bytes, part.count * bytes), data.data())
                       : status;
  });
}

//===----------------------------------------------------------------------===//
// Initializers
//===----------------------------------------------------------------------===//

namespace {

double number(mlir::FloatAttr attr) { return attr.getValueAsDouble(); }

/// Writes elements [begin, begin + count) of the whole variable to `out`, as
/// its initializer defines them.
template <typename T> absl::Status generate(mlir::Attribute init, RandomKey key, int64_t begin, int64_t count, T *out) {
  if (auto constant = mlir::dyn_cast<sbp::ConstantInitAttr>(init)) {
    fillConstant(count, number(constant.getValue()), out);
    return absl::OkStatus();
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (auto normal = mlir::dyn_cast<sbp::NormalInitAttr>(init)) {
      fillNormal<T>(key, begin, count, number(normal.getMean()), number(normal.getStddev()), out);
      return absl::OkStatus();
    }
    if (auto uniform = mlir::dyn_cast<sbp::UniformInitAttr>(init)) {
      fillUniform<T>(key, begin, count, number(uniform.getLow()), number(uniform.getHigh()), out);
      return absl::OkStatus();
    }
  }
  std::string text;
  llvm::raw_string_ostream(text) << init;
  return absl::InvalidArgumentError(absl::StrCat(text, " cannot initialize elements of this type; use #sbp.constant"));
}

/// The half-open range [low, high) of a uniform initializer.
struct Range {
  double low, high;
};

/// Rounds to the nearest value of a smaller type. With a range, the result
/// stays within it: rounding may give a value below `low` or the excluded
/// `high`. Without a range, values too large for the type become infinite.
llvm::APFloat roundWithin(std::optional<Range> range, double value, const llvm::fltSemantics &semantics) {
  llvm::APFloat result(value);
  bool losesInformation = false;
  result.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInformation);
  if (range && result.convertToDouble() < range->low)
    result.next(/*nextDown=*/false);
  else if (range && result.convertToDouble() >= range->high)
    result.next(/*nextDown=*/true);
  return result;
}

/// Generates bf16 or f16 elements: doubles that are rounded once.
absl::Status generateHalves(ElementType type, mlir::Attribute init, RandomKey key, int64_t begin, int64_t count,
                            uint16_t *out) {
  std::vector<double> wide(count);
  SPLITCAST_RETURN_IF_ERROR(generate(init, key, begin, count, wide.data()));
  std::optional<Range> range;
  if (auto uniform = mlir::dyn_cast<sbp::UniformInitAttr>(init);
      uniform && number(uniform.getHigh()) > number(uniform.getLow()))
    range = Range{number(uniform.getLow()), number(uniform.getHigh())};
  const llvm::fltSemantics &semantics = type == ElementType::BF16 ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf();
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<uint16_t>(roundWithin(range, wide[i], semantics).bitcastToAPInt().getZExtValue());
  return absl::OkStatus();
}

absl::Status generate(ElementType type, mlir::Attribute init, RandomKey key, int64_t begin, int64_t count, void *out) {
  switch (type) {
  case ElementType::F32:
    return generate(init, key, begin, count, static_cast<float *>(out));
  case ElementType::F64:
    return generate(init, key, begin, count, static_cast<double *>(out));
  case ElementType::BF16:
  case ElementType::F16:
    return generateHalves(type, init, key, begin, count, static_cast<uint16_t *>(out));
  case ElementType::I32:
    return generate(init, key, begin, count, static_cast<int32_t *>(out));
  case ElementType::I64:
    return generate(init, key, begin, count, static_cast<int64_t *>(out));
  default:
    return absl::InvalidArgumentError(absl::StrCat("variables of type ", nameOf(type),
                                                   " cannot have an initializer; use f32, f64, bf16, f16, i32 or i64"));
  }
}

absl::Status checkStored(const SafetensorsFile &file, const std::string &tensor, const VariableInfo &variable) {
  const StoredTensor *stored = file.find(tensor);
  std::string wanted = describe(variable.type, variable.shape);
  if (!stored)
    return absl::InvalidArgumentError(absl::StrCat(
        "file '", file.path(), "' has no tensor '", tensor, "', from which variable @", variable.name, " (", wanted,
        ") should be read; use a file that has it, or, with --load-known "
        "(Session::loadKnown, or load_known in Python), what the file and the model have in common"));
  if (stored->type != variable.type || stored->shape != variable.shape)
    return absl::InvalidArgumentError(absl::StrCat("file '", file.path(), "': tensor '", tensor, "' is ", stored->dtype,
                                                   "[", absl::StrJoin(stored->shape, ", "), "], but the variable is ",
                                                   wanted, "; load a file that was saved from the same model"));
  return absl::OkStatus();
}

/// Opens and checks the file of an #sbp.file initializer; returns nullopt for
/// other initializers.
absl::StatusOr<std::optional<SafetensorsFile>> openInitFile(const VariableInfo &variable) {
  auto init = mlir::dyn_cast<sbp::FileInitAttr>(variable.init);
  if (!init)
    return std::nullopt;
  SPLITCAST_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(init.getPath().str()));
  SPLITCAST_RETURN_IF_ERROR(checkStored(file, init.getTensor().str(), variable));
  return file;
}

} // namespace

absl::Status Variables::initialize(uint64_t seed) {
  absl::Status status = absl::OkStatus();
  for (const VariableInfo &variable : variables)
    if (status.ok())
      status = initialize(variable, seed);
  return agree(status, "initializing variables");
}

absl::Status Variables::initialize(const VariableInfo &variable, uint64_t seed) {
  if (!variable.init || variable.pieceElements() == 0)
    return absl::OkStatus();
  absl::StatusOr<std::optional<SafetensorsFile>> file = openInitFile(variable);
  absl::Status status = file.status();
  if (status.ok())
    status = writeParts(variable, [&](const Part &part, std::vector<char> &data) {
      absl::Status made;
      for (const sbp::Run &run : part.runs) {
        void *out = data.data() + run.local * bytesOf(variable.type);
        if (made.ok())
          made = *file ? (*file)->read(mlir::cast<sbp::FileInitAttr>(variable.init).getTensor().str(), run.logical,
                                       run.count, out)
                       : generate(variable.type, variable.init, {seed, hashName(variable.name)}, run.logical, run.count,
                                  out);
      }
      return made;
    });
  return status.ok() ? status
                     : absl::Status(status.code(),
                                    absl::StrCat("variable @", variable.name, ": ", std::string(status.message())));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

absl::Status Variables::agree(const absl::Status &mine, const CallSite &what) {
  std::string text = mine.ok() ? "" : absl::StrCat(static_cast<int>(mine.code()), " ", std::string(mine.message()));
  absl::StatusOr<std::vector<std::string>> all = communicator.exchange(text, what);
  if (!all.ok())
    return mine.ok() ? all.status() : mine;
  SPLITCAST_RETURN_IF_ERROR(mine);
  for (size_t rank = 0; rank < all->size(); ++rank)
    if (const std::string &error = (*all)[rank]; !error.empty()) {
      size_t space = error.find(' ');
      int code = 0;
      (void)absl::SimpleAtoi(error.substr(0, space), &code);
      return absl::Status(static_cast<absl::StatusCode>(code),
                          absl::StrCat("rank ", rank, ": ", error.substr(space + 1)));
    }
  return absl::OkStatus();
}

std::vector<const VariableInfo *> Variables::stored() const {
  std::vector<const VariableInfo *> result;
  for (const VariableInfo &variable : variables)
    if (!variable.isCarried && !variable.isLeftOut)
      result.push_back(&variable);
  return result;
}

absl::Status Variables::load(const std::string &path) {
  absl::StatusOr<SafetensorsFile> file = SafetensorsFile::open(path);
  absl::Status status = file.status();
  std::vector<Stored> all;
  for (const VariableInfo *variable : stored())
    all.push_back({variable, variable->name});
  if (status.ok())
    status = checkAll(*file, all);
  for (const StoredTensor &tensor : file.ok() ? file->tensors() : std::vector<StoredTensor>())
    if (absl::StatusOr<const VariableInfo *> known = find(tensor.name);
        status.ok() && (!known.ok() || (*known)->isCarried || (*known)->isLeftOut))
      status = absl::InvalidArgumentError(
          absl::StrCat("file '", path, "' has a tensor '", tensor.name,
                       "', which is not a variable of the module; load a file that was saved "
                       "from the same model"));
  return loadAll(file, status, all);
}

absl::StatusOr<std::vector<std::string>> Variables::loadWeights(const std::string &path,
                                                                const std::vector<Renaming> &renamings) {
  absl::StatusOr<SafetensorsFile> file = SafetensorsFile::open(path);
  absl::Status status = file.status();
  std::map<std::string, std::string> tensors; // by new name
  for (const StoredTensor &tensor : file.ok() ? file->tensors() : std::vector<StoredTensor>()) {
    const auto [known, isNew] = tensors.emplace(renamed(tensor.name, renamings), tensor.name);
    if (!isNew && status.ok())
      status = absl::InvalidArgumentError(absl::StrCat("file '", path, "': tensors '", known->second, "' and '",
                                                       tensor.name, "' are both renamed to '", known->first,
                                                       "'; give one of them another name"));
  }
  std::vector<Stored> weights;
  for (const VariableInfo *variable : stored()) {
    if (!variable->isWeight)
      continue;
    auto found = tensors.find(variable->name);
    weights.push_back({variable, found == tensors.end() ? variable->name : found->second});
    if (found != tensors.end())
      tensors.erase(found);
    else if (status.ok() && file->find(variable->name))
      status = absl::InvalidArgumentError(absl::StrCat("file '", path, "': tensor '", variable->name,
                                                       "' is renamed to '", renamed(variable->name, renamings),
                                                       "', so that none is left for variable @", variable->name,
                                                       "; rename another to it, or leave that renaming out"));
  }
  if (status.ok())
    status = checkAll(*file, weights);
  SPLITCAST_RETURN_IF_ERROR(loadAll(file, status, weights));
  std::vector<std::string> unused;
  for (const auto &[name, tensor] : tensors)
    unused.push_back(tensor);
  return unused;
}

absl::StatusOr<LoadedVariables> Variables::loadKnown(const std::string &path) {
  absl::StatusOr<SafetensorsFile> file = SafetensorsFile::open(path);
  LoadedVariables result;
  std::vector<Stored> known;
  const auto isThere = [&](const std::string &name) { return file.ok() && file->find(name) != nullptr; };
  for (const VariableInfo *variable : this->known(isThere, result.kept))
    known.push_back({variable, variable->name});
  for (const StoredTensor &tensor : file.ok() ? file->tensors() : std::vector<StoredTensor>())
    if (absl::StatusOr<const VariableInfo *> variable = find(tensor.name);
        !variable.ok() || (*variable)->isCarried || (*variable)->isLeftOut)
      result.unused.push_back(tensor.name);
  absl::Status status = file.status();
  if (status.ok() && known.empty())
    status = absl::InvalidArgumentError(absl::StrCat("file '", path, "' has none of the module's ", stored().size(),
                                                     " variables; load a file that was saved from a similar model"));
  if (status.ok())
    status = checkAll(*file, known);
  SPLITCAST_RETURN_IF_ERROR(loadAll(file, status, known));
  return result;
}

absl::Status Variables::checkAll(const SafetensorsFile &file, const std::vector<Stored> &all) {
  for (const Stored &stored : all)
    SPLITCAST_RETURN_IF_ERROR(checkStored(file, stored.tensor, *stored.variable));
  return absl::OkStatus();
}

absl::Status Variables::loadAll(const absl::StatusOr<SafetensorsFile> &file, absl::Status status,
                                const std::vector<Stored> &all) {
  // No variable has been changed so far, and none will be if any rank has an
  // error.
  SPLITCAST_RETURN_IF_ERROR(agree(status, "loading variables"));
  for (const Stored &stored : all)
    if (status.ok())
      status = writeParts(*stored.variable, [&](const Part &part, std::vector<char> &data) {
        absl::Status read;
        for (const sbp::Run &run : part.runs)
          if (read.ok())
            read = file->read(stored.tensor, run.logical, run.count,
                              data.data() + run.local * bytesOf(stored.variable->type));
        return read;
      });
  return agree(status, "loading variables");
}

} // namespace splitcast::runtime
