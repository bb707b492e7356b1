#include "tests/reference/RankStorages.h"

#include "tests/reference/Layout.h"
#include "tests/reference/Rounding.h"

#include "absl/strings/str_cat.h"

#include <set>

using namespace mlir;

namespace splitcast::reference {
namespace {

struct Piece {
  int64_t count = 0; ///< elements
  std::vector<sbp::Run> runs;
};

/// What a rank stores of a variable; the whole when no signature has been decided.
absl::StatusOr<Piece> pieceOn(int64_t rank, sbp::VariableOp variable) {
  sbp::Shape shape = sbp::shapeOf(variable.getTensorType());
  int64_t elements = sbp::numElements(shape);
  sbp::NdAttr signature = variable.getStorageOrLogical();
  if (!signature)
    return Piece{elements, elements ? std::vector<sbp::Run>{{0, 0, elements}} : std::vector<sbp::Run>{}};
  sbp::Placement placement = signature.getPlacement().toAlgebra();
  sbp::NdSbp sbp = signature.toAlgebra();
  for (int64_t position = 0; position < placement.numPositions(); ++position) {
    if (rankAt(placement, position) != rank)
      continue;
    std::vector<int64_t> at = placement.coordinates(position);
    return Piece{sbp::numElements(sbp::localShape(shape, sbp, placement, at)), sbp::pieces(shape, sbp, placement, at)};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the placement of @", variable.getSymName().str(), " has no rank ", rank));
}

} // namespace

absl::StatusOr<RankStorages> RankStorages::create(std::vector<ModuleOp> modules) {
  RankStorages result;
  result.storages.resize(modules.size());
  for (auto [rank, module] : llvm::enumerate(modules))
    for (auto storage : module.getOps<ccl::StorageOp>())
      if (absl::Status status = result.addStorage(rank, module, storage); !status.ok())
        return absl::Status(status.code(), absl::StrCat("ccl.storage @", storage.getSymName().str(), " of rank ", rank,
                                                        ": ", status.message()));
  return result;
}

absl::Status RankStorages::addStorage(int64_t rank, ModuleOp module, ccl::StorageOp storage) {
  if (absl::Status status = checkHoldable(storage.getTensorType()); !status.ok())
    return status;
  storages[rank].emplace(storage.getSymName().str(), Tensor::zeros(storage.getTensorType()));
  for (auto [symbol, offset] : llvm::zip(storage.getMembers(), storage.getOffsets())) {
    auto variable = module.lookupSymbol<sbp::VariableOp>(cast<FlatSymbolRefAttr>(symbol).getValue());
    absl::StatusOr<Member> member = memberOf(rank, storage, variable, offset);
    if (!member.ok())
      return member.status();
    members.push_back(*std::move(member));
  }
  return absl::OkStatus();
}

absl::StatusOr<RankStorages::Member> RankStorages::memberOf(int64_t rank, ccl::StorageOp storage,
                                                            sbp::VariableOp variable, int64_t offset) const {
  std::string name = variable.getSymName().str();
  RankedTensorType type = storage.getTensorType();
  if (variable.getTensorType().getElementType() != type.getElementType())
    return absl::InvalidArgumentError(absl::StrCat("@", name, " has elements of ",
                                                   printed(variable.getTensorType().getElementType()),
                                                   ", the storage of ", printed(type.getElementType())));
  absl::StatusOr<Piece> piece = pieceOn(rank, variable);
  if (!piece.ok())
    return piece.status();
  if (offset + piece->count > type.getNumElements())
    return absl::InvalidArgumentError(absl::StrCat("the ", piece->count, " elements of @", name, " from ", offset,
                                                   " on leave its ", type.getNumElements(), " elements"));
  return Member{rank, storage.getSymName().str(), variable, offset, piece->count, std::move(piece->runs)};
}

Tensor *RankStorages::find(int64_t rank, StringRef storage) {
  auto found = storages[rank].find(storage.str());
  return found == storages[rank].end() ? nullptr : &found->second;
}

absl::Status RankStorages::setVariables(const Variables &globals, Precision precision) {
  std::set<std::string> stored;
  for (Member &member : members) {
    std::string name = member.variable.getSymName().str();
    auto global = globals.find(name);
    if (global == globals.end())
      continue;
    stored.insert(name);
    absl::Status status = checkIs(global->second, member.variable.getTensorType(), absl::StrCat("variable @", name));
    if (!status.ok())
      return status;
    Tensor rounded = global->second;
    roundElements(rounded, precision);
    for (const sbp::Run &run : member.runs)
      copyElements(rounded, run.logical, run.count, *find(member.rank, member.storage), member.offset + run.local);
  }
  for (const auto &[name, tensor] : globals)
    if (!stored.count(name))
      return absl::NotFoundError(absl::StrCat("no ccl.storage of any rank holds @", name));
  return absl::OkStatus();
}

/// What is carried as addends, of each rank.
static absl::StatusOr<Tensor> sumOf(sbp::VariableOp variable, const std::map<int64_t, Tensor> &addends) {
  const sbp::NdAttr signature = variable.getStorageOrLogical();
  const sbp::Placement placement = signature.getPlacement().toAlgebra();
  std::vector<Tensor> pieces;
  for (int64_t position = 0; position < placement.numPositions(); ++position)
    pieces.push_back(addends.at(rankAt(placement, position)));
  return assemble(std::move(pieces), sbp::shapeOf(variable.getType()), signature.toAlgebra(), placement,
                  Precision::F32);
}

absl::StatusOr<Variables> RankStorages::getVariables() const {
  std::map<std::string, Gather> gathers;
  llvm::MapVector<sbp::VariableOp, std::map<int64_t, Tensor>> addends;
  llvm::StringMap<sbp::VariableOp> firsts; // each rank's module declares it
  for (const Member &member : members) {
    sbp::VariableOp variable = member.variable;
    std::string name = variable.getSymName().str();
    if (variable.getStorageOrLogical().hasPartial()) {
      sbp::VariableOp first = firsts.try_emplace(name, variable).first->second;
      addends[first].emplace(member.rank, storages[member.rank].at(member.storage));
      continue;
    }
    RankedTensorType type = variable.getTensorType();
    auto gather = gathers.try_emplace(name, "@" + name, sbp::shapeOf(type), type.getElementType()).first;
    const Tensor &holder = storages[member.rank].at(member.storage);
    if (absl::Status status = gather->second.add(member.rank, holder, member.offset, member.runs); !status.ok())
      return status;
  }
  Variables variables;
  for (auto &[name, gather] : gathers) {
    absl::StatusOr<Tensor> tensor = std::move(gather).finish();
    if (!tensor.ok())
      return tensor.status();
    variables.emplace(name, *std::move(tensor));
  }
  for (const auto &[variable, ofRanks] : addends) {
    absl::StatusOr<Tensor> sum = sumOf(variable, ofRanks);
    if (!sum.ok())
      return sum.status();
    variables.emplace(sbp::VariableOp(variable).getSymName().str(), *std::move(sum));
  }
  return variables;
}

absl::Status RankStorages::checkPadding() const {
  std::map<std::pair<int64_t, std::string>, std::vector<bool>> taken;
  for (size_t rank = 0; rank < storages.size(); ++rank)
    for (const auto &[name, tensor] : storages[rank])
      taken[{rank, name}].resize(tensor.numElements());
  for (const Member &member : members)
    std::fill_n(taken[{member.rank, member.storage}].begin() + member.offset, member.count, true);
  for (const auto &[place, isTaken] : taken) {
    const Tensor &tensor = storages[place.first].at(place.second);
    for (int64_t i = 0; i < tensor.numElements(); ++i)
      if (!isTaken[i] && (tensor.isFloat() ? tensor.floats[i] != 0.0 : tensor.integers[i] != 0))
        return absl::DataLossError(absl::StrCat("rank ", place.first, ": element ", i, " of ccl.storage @",
                                                place.second, " is padding, but is ", elementText(tensor, i)));
  }
  return absl::OkStatus();
}

} // namespace splitcast::reference
