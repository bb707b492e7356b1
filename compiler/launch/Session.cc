#include "compiler/launch/Session.h"

#include "compiler/launch/AgreeOnStorages.h"
#include "compiler/launch/Alike.h"
#include "compiler/launch/AlikeInputs.h"
#include "compiler/launch/InexactSums.h"
#include "compiler/launch/MemoryLimit.h"

#include "dialects/exec/EntryPoints.h"
#include "runtime/api/SessionCommunicator.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/StoredType.h"
#include "runtime/executor/Variables.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "llvm/TargetParser/Host.h"

#include <map>
#include <memory>
#include <optional>

using namespace mlir;

namespace splitcast {

namespace {

//===----------------------------------------------------------------------===//
// Agreement
//===----------------------------------------------------------------------===//

/// Returns a text that must be equal on all ranks before the first step.
/// `limited` has the given limit and policy if a memory limit chooses the rest,
/// and is empty otherwise.
std::string fingerprint(ModuleOp global, const SessionOptions &options, sbp::OneCopy wanted,
                        const std::string &limited) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // Locations and names of values do not matter.
  global->print(os, OpPrintingFlags().enableDebugInfo(false).printGenericOpForm());
  os.flush();
  return absl::StrCat("program ", digest(text).substr(0, 16), ", seed ", options.seed, ", threads ", options.threads,
                      ", one-copy ", sbp::toString(wanted), limited, ", CPU ", llvm::sys::getHostCPUName().str());
}

absl::Status comparePrograms(const std::string &mine, runtime::Communicator &communicator) {
  absl::StatusOr<std::vector<std::string>> all = communicator.exchange(mine, {"comparison of programs before step 1"});
  return all.ok() ? checkAlike(*all, "programs or options") : all.status();
}

/// Compares the files of variables if all ranks can read theirs. An error of a
/// rank's own file is found when it is loaded.
absl::Status compareFiles(const std::string &path, runtime::Communicator &communicator) {
  absl::StatusOr<std::vector<std::string>> all =
      communicator.exchange(sampleOfFile(path).value_or(""), {"comparison of files of variables"});
  return all.ok() && !llvm::is_contained(*all, "") ? checkAlike(*all, "files of variables") : all.status();
}

/// Returns the collectives that this rank calls in each group, in order, one
/// per line. Members of a group must agree on them.
std::map<std::vector<int64_t>, std::string> collectivesByGroup(ModuleOp plans) {
  std::map<std::vector<int64_t>, std::string> byGroup;
  SymbolTableCollection symbols;
  plans.walk([&](exec::CollectiveOp op) {
    llvm::raw_string_ostream os(byGroup[exec::groupOf(op, symbols).getRanks().vec()]);
    os << op->getParentOfType<exec::PlanOp>().getSymName() << " " << op.getRule().name << " " << op.getWhat() << " "
       << op.getType();
    if (!op.getReceived()) // the blocks of an all-to-all differ between ranks
      llvm::interleaveComma(op.getBlocks(), os << " ");
    os << "\n";
  });
  return byGroup;
}

/// Each rank compiles for itself. This checks that their programs fit together.
absl::Status compareCollectives(ModuleOp plans, runtime::Communicator &communicator) {
  std::string mine;
  auto describe = [](const std::vector<int64_t> &group, const std::string &calls) {
    return absl::StrCat("|", absl::StrJoin(group, ","), ":", digest(calls), "|");
  };
  auto byGroup = collectivesByGroup(plans);
  for (const auto &[group, calls] : byGroup)
    mine += describe(group, calls);
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> all,
                             communicator.exchange(mine, {"comparison of collectives before step 1"}));
  for (const auto &[group, calls] : byGroup)
    for (int64_t rank : group)
      if (all[rank].find(describe(group, calls)) == std::string::npos)
        return absl::InternalError(absl::StrCat("ranks ", communicator.rank(), " and ", rank,
                                                " were compiled to different collectives in their group ",
                                                absl::StrJoin(group, " "), "; please report this with the module"));
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// The session
//===----------------------------------------------------------------------===//

/// Zeroed host memory of a device (Device::allocateHost), in which a piece of
/// an input or output lies outside of the runs. The memory report counts it
/// (MemoryReport::interfaceBytes).
struct Staging {
  std::shared_ptr<std::byte> data; ///< null if it has no bytes
  int64_t bytes = 0;

  static absl::StatusOr<Staging> create(runtime::Device &device, int64_t bytes) {
    if (bytes == 0)
      return Staging();
    SPLITCAST_ASSIGN_OR_RETURN(runtime::Buffer memory, device.allocateHost(bytes));
    return Staging{{memory.data, [&device, memory](std::byte *) { device.releaseHost(memory); }}, bytes};
  }
};

struct Function {
  exec::EntryPoint point;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<Staging> inputData, outputData;
  std::vector<absl::Span<const std::byte>> inputPieces; ///< those of inputData
  std::optional<AlikeInputs> alike;                     ///< of these; none if there is one rank
  Staging numbers; ///< the numbers of the micro-batches, for runs that take theirs as an input
};

/// Returns a number as a text, or a digest of other values.
std::string valueText(runtime::ElementType type, absl::Span<const std::byte> piece) {
  auto as = [&](auto number) {
    std::memcpy(&number, piece.data(), sizeof(number));
    return absl::StrCat(number);
  };
  if (static_cast<int64_t>(piece.size()) == runtime::bytesOf(type)) {
    if (type == runtime::ElementType::F32)
      return as(float());
    if (type == runtime::ElementType::F64)
      return as(double());
    if (type == runtime::ElementType::I32)
      return as(int32_t());
    if (type == runtime::ElementType::I64)
      return as(int64_t());
  }
  const uint64_t digest = runtime::digestOf({reinterpret_cast<const char *>(piece.data()), piece.size()});
  return absl::StrCat("(digest ", absl::Hex(digest, absl::kZeroPad16), ")");
}

class SessionImpl : public Session {
public:
  SessionImpl(runtime::Device &device, runtime::Communicator &all)
      : device(device), ranks(runtime::createSessionCommunicator(all, activity)), communicator(*ranks) {
    activity->session = all.nextSession();
  }

  /// Compiles and binds as the options say or, with a memory limit, in the
  /// first way that is within it.
  absl::Status init(ModuleOp global, SessionOptions options) {
    lastPhase = absl::Now();
    // This is done whatever the options are, so that ranks with different
    // options find out together.
    const absl::StatusOr<bool> isCommon = haveMemoryInCommon(communicator);
    endPhase(seconds.ranks);
    if (!isCommon.ok())
      return isCommon.status();
    sbp::ZeroOptions &zero = options.compile.zero;
    const sbp::OneCopy wanted = zero.oneCopy;
    const bool isLimited = zero.memoryLimit > 0;
    if (isLimited)
      limited = absl::StrCat(", memory-limit ", zero.memoryLimit, " and ", sbp::toString(zero.policy));
    for (const sbp::Policy &way : isLimited ? waysToSave(zero.policy) : std::vector<sbp::Policy>{zero.policy}) {
      zero.policy = way;
      const absl::StatusOr<bool> isBound = tryWay(global, options, wanted, *isCommon);
      if (!isBound.ok() || *isBound)
        return isBound.status();
    }
    return exceedsLimit(zero.memoryLimit, leastPeak, policyOfLeast);
  }

  /// Compiles and binds in one way. If `wanted` is `one-copy=auto`, parameters
  /// of stage 3 are stored whole if ranks then share one copy of them, and
  /// otherwise split; `options` then have what was chosen. Returns false, on
  /// all ranks, if the way exceeds the memory limit.
  absl::StatusOr<bool> tryWay(ModuleOp global, SessionOptions &options, sbp::OneCopy wanted, bool isCommon) {
    sbp::OneCopy &oneCopy = options.compile.zero.oneCopy;
    if (wanted == sbp::OneCopy::Auto && isCommon) {
      oneCopy = sbp::OneCopy::Yes;
      absl::StatusOr<bool> isBound = tryOneCopy(global, options);
      if (!isBound.ok() || *isBound)
        return isBound;
    }
    oneCopy = wanted == sbp::OneCopy::Auto ? sbp::OneCopy::No : wanted;
    SPLITCAST_RETURN_IF_ERROR(compile(global, options, wanted));
    absl::StatusOr<bool> fits = isWithinLimit(options, MemoryReports(*plans));
    return fits.ok() && *fits ? bind(options) : fits;
  }

  /// Returns false, on all ranks, if one copy would take more memory or is not
  /// possible.
  absl::StatusOr<bool> tryOneCopy(ModuleOp global, const SessionOptions &options) {
    SPLITCAST_RETURN_IF_ERROR(compile(global, options, sbp::OneCopy::Auto));
    absl::StatusOr<bool> pays = paysToHaveOneCopy(*plans, communicator);
    if (pays.ok() && *pays)
      pays = isWithinLimit(options, MemoryReports(*plans));
    endPhase(seconds.ranks);
    return pays.ok() && *pays ? bind(options, /*needsOneCopy=*/hasWhole(*plans)) : pays;
  }

  /// Returns whether what was compiled is within the memory limit on every
  /// rank; all ranks get the same result. It is asked before anything is
  /// allocated, and again when it is known which memory ranks share.
  absl::StatusOr<bool> isWithinLimit(const SessionOptions &options, const MemoryReports &reports) {
    const sbp::ZeroOptions &zero = options.compile.zero;
    if (zero.memoryLimit == 0)
      return true;
    chosen = zero.policy;
    absl::StatusOr<LargestPeak> peak = largestPeak(*plans, reports, options.savesBeside, communicator);
    endPhase(seconds.ranks);
    if (!peak.ok())
      return peak.status();
    if (peak->bytes <= zero.memoryLimit)
      return true;
    if (leastPeak.bytes == 0 || peak->bytes < leastPeak.bytes) {
      leastPeak = *peak;
      policyOfLeast = *chosen;
    }
    return false;
  }

  absl::Status compile(ModuleOp global, const SessionOptions &options, sbp::OneCopy wanted) {
    absl::StatusOr<OwningOpRef<ModuleOp>> boxed = compileGlobal(global, options.compile);
    endPhase(seconds.global);
    if (!boxed.ok())
      return boxed.status();
    sbp::PlacementAttr placement = sbp::placementOf(**boxed);
    if (placement.toAlgebra().numPositions() != communicator.size())
      return absl::InvalidArgumentError(
          absl::StrCat("the module's placement has ", placement.toAlgebra().numPositions(), " ranks, but ",
                       communicator.size(), " are running; start as many as the placement has"));
    for (int64_t rank : placement.getRanks())
      if (rank >= communicator.size())
        return absl::InvalidArgumentError(absl::StrCat("the module's placement lists rank ", rank, ", but ranks 0 to ",
                                                       communicator.size() - 1, " are running; list only these"));
    if (placement.getDeviceKind().getValue() != device.kind())
      return absl::InvalidArgumentError(
          absl::StrCat("the module's placement is on \"", placement.getDeviceKind().getValue().str(),
                       "\" devices, but this session runs on \"", device.kind(),
                       "\"; start it with --device=", placement.getDeviceKind().getValue().str()));
    SPLITCAST_RETURN_IF_ERROR(comparePrograms(fingerprint(**boxed, options, wanted, limited), communicator));
    endPhase(seconds.ranks);
    SPLITCAST_ASSIGN_OR_RETURN(plans, compilePlan(**boxed, options.compile, communicator.rank()));
    endPhase(seconds.plan);
    SPLITCAST_RETURN_IF_ERROR(compareCollectives(*plans, communicator));
    absl::Status status = share();
    endPhase(seconds.ranks);
    return status;
  }

  /// Shares storages that ranks gather: the ranks of a machine have one copy of
  /// those that all of them can share.
  absl::Status share() {
    absl::StatusOr<std::vector<std::string>> storages = agreeOnStorages(*plans, communicator);
    return storages.ok() ? shareStorages(*plans, *storages) : storages.status();
  }

  /// Returns false, on all ranks, if `needsOneCopy` and there is no one copy
  /// (Executor::bind), or if this exceeds the memory limit.
  absl::StatusOr<bool> bind(const SessionOptions &options, bool needsOneCopy = false) {
    savesBeside = options.savesBeside;
    SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Executor> bound,
                               runtime::Executor::bind(*plans, device, communicator, options.observer, needsOneCopy));
    if (!bound)
      return false;
    executor = std::move(bound);
    endPhase(seconds.kernels);
    memory.emplace(*plans, [this](StringRef space) { return executor->isShared(space); });
    if (const absl::StatusOr<bool> fits = isWithinLimit(options, *memory); !fits.ok() || !*fits) {
      memory.reset();
      executor.reset();
      return fits;
    }
    SPLITCAST_ASSIGN_OR_RETURN(state, runtime::Variables::create(*plans, device, communicator, *executor));
    state->leaveOutOfFiles(options.notInFiles);
    for (const exec::EntryPoint &point : exec::entryPointsOf(*plans))
      SPLITCAST_RETURN_IF_ERROR(addFunction(point));
    absl::Status status = state->initialize(options.seed);
    endPhase(seconds.variables);
    return status.ok() ? absl::StatusOr<bool>(true) : status;
  }

  CompileSeconds compileSeconds() const override { return seconds; }

  /// Adds the time since the last phase ended.
  void endPhase(double &phase) {
    const absl::Time now = absl::Now();
    phase += absl::ToDoubleSeconds(now - lastPhase);
    lastPhase = now;
  }

  //--- Functions ----------------------------------------------------------------------------------------------------//

  std::vector<std::string> functions() const override {
    std::vector<std::string> names;
    for (const auto &[name, function] : byName)
      names.push_back(name);
    return names;
  }

  absl::StatusOr<std::vector<TensorInfo>> inputs(const std::string &name) const override {
    SPLITCAST_ASSIGN_OR_RETURN(const Function *function, find(name));
    return function->inputs;
  }

  absl::StatusOr<std::vector<TensorInfo>> outputs(const std::string &name) const override {
    SPLITCAST_ASSIGN_OR_RETURN(const Function *function, find(name));
    return function->outputs;
  }

  absl::StatusOr<absl::Span<std::byte>> inputPiece(const std::string &name, size_t index) override {
    absl::StatusOr<const Function *> function = find(name);
    return function.ok() ? pieceOf((*function)->inputData, name, index, "inputs") : function.status();
  }

  absl::StatusOr<absl::Span<const std::byte>> outputPiece(const std::string &name, size_t index) override {
    SPLITCAST_ASSIGN_OR_RETURN(const Function *function, find(name));
    SPLITCAST_ASSIGN_OR_RETURN(absl::Span<std::byte> piece, pieceOf(function->outputData, name, index, "outputs"));
    return absl::Span<const std::byte>(piece);
  }

  absl::Status run(const std::string &name) override {
    SPLITCAST_ASSIGN_OR_RETURN(const Function *function, find(name));
    SPLITCAST_RETURN_IF_ERROR(broken);
    beginRun(name, *function);
    const absl::Status status = runOnce(name, *function);
    activity->function.clear();
    activity->alike.clear();
    return status;
  }

  absl::Status runOnce(const std::string &name, const Function &function) {
    absl::Status status = communicator.agreeOnRun({"start of a run"});
    if (status.ok())
      status = enqueueRuns(function, kept.begin(name));
    if (!status.ok() && communicator.size() > 1)
      broken = absl::Status(status.code(), absl::StrCat("an earlier run of @", name,
                                                        " has ended in the middle, and other "
                                                        "ranks may have gone on: ",
                                                        status.message()));
    if (status.ok())
      status = executor->wait();
    if (status.ok() && communicator.rank() == 0)
      status = inexactSums.lookAfter(name, *state);
    if (!status.ok())
      kept.forget();
    return status;
  }

  //--- Variables ----------------------------------------------------------------------------------------------------//

  std::vector<Variable> variables() const override { return variablesOf(communicator.rank()); }
  std::vector<Variable> variablesOf(int64_t rank) const override {
    std::vector<Variable> result;
    for (const runtime::VariableInfo &info : state->of(rank))
      result.push_back({info.name, info.type, info.shape, info.pieces, info.ownsPieces});
    return result;
  }

  absl::Status readPieces(const std::string &name, void *data) override {
    absl::StatusOr<const runtime::VariableInfo *> info = state->find(name);
    return info.ok() ? state->readPieces(**info, data) : info.status();
  }
  absl::Status readPart(const std::string &name, const sbp::Interval &elements, void *data) override {
    absl::StatusOr<const runtime::VariableInfo *> info = state->find(name);
    return info.ok() ? state->readPart(**info, elements, data) : info.status();
  }
  absl::Status writePieces(const std::string &name, const void *data) override {
    return set(name, [&](const runtime::VariableInfo &info) { return state->writePieces(info, data); });
  }
  absl::Status streamVariable(const std::string &name, std::optional<int64_t> to, PartVisitor visit) override {
    absl::StatusOr<const runtime::VariableInfo *> info = state->find(name);
    return info.ok() ? state->stream(**info, to, visit) : info.status();
  }
  absl::Status writeElements(const std::string &name, const sbp::Interval &elements, const void *data) override {
    return set(name, [&](const runtime::VariableInfo &info) { return state->writeElements(info, elements, data); });
  }
  absl::Status readVariable(const std::string &name, void *data) override {
    SPLITCAST_RETURN_IF_ERROR(broken);
    absl::StatusOr<const runtime::VariableInfo *> info = state->find(name);
    return info.ok() ? state->readWhole(**info, data) : info.status();
  }
  absl::Status writeVariable(const std::string &name, const void *data) override {
    return set(name, [&](const runtime::VariableInfo &info) { return state->writeWhole(info, data); });
  }
  /// Barriers before and after the write, since ranks may share one copy:
  /// another rank may still be running what it called last, and none may go on
  /// before the variable is set.
  absl::Status set(const std::string &name, function_ref<absl::Status(const runtime::VariableInfo &)> write) {
    kept.forget();
    const runtime::CallSite site{absl::StrCat("setting @", name)};
    SPLITCAST_RETURN_IF_ERROR(broken);
    SPLITCAST_RETURN_IF_ERROR(communicator.barrier(site));
    absl::StatusOr<const runtime::VariableInfo *> info = state->find(name);
    absl::Status status = info.ok() ? write(**info) : info.status();
    status.Update(communicator.barrier(site));
    return status;
  }
  absl::Status saveVariables(const std::string &path) override { return broken.ok() ? state->save(path) : broken; }
  absl::StatusOr<std::unique_ptr<runtime::PendingSave>> beginSave(const std::string &path) override {
    if (!savesBeside)
      return absl::FailedPreconditionError(
          "beginSave copies the variables, which this session's predicted peak leaves out; set "
          "SessionOptions::savesBeside");
    return state->beginSave(path);
  }
  absl::Status loadVariables(const std::string &path) override {
    kept.forget();
    absl::Status status = broken.ok() ? compareFiles(path, communicator) : broken;
    return status.ok() ? state->load(path) : status;
  }

  absl::StatusOr<std::vector<std::string>> loadWeights(const std::string &path,
                                                       const std::vector<runtime::Renaming> &renamings) override {
    kept.forget();
    absl::Status status = broken.ok() ? compareFiles(path, communicator) : broken;
    return status.ok() ? state->loadWeights(path, renamings) : absl::StatusOr<std::vector<std::string>>(status);
  }

  absl::StatusOr<runtime::LoadedVariables> loadKnown(const std::string &path) override {
    kept.forget();
    absl::Status status = broken.ok() ? compareFiles(path, communicator) : broken;
    return status.ok() ? state->loadKnown(path) : absl::StatusOr<runtime::LoadedVariables>(status);
  }

  absl::StatusOr<runtime::LoadedVariables> takeVariables(Session &other) override {
    std::map<std::string, Variable> theirs;
    for (Variable &variable : other.variables())
      theirs.emplace(variable.name, std::move(variable));
    runtime::LoadedVariables result;
    const std::vector<const runtime::VariableInfo *> known =
        state->known([&](const std::string &name) { return theirs.count(name) > 0; }, result.kept);
    for (const runtime::VariableInfo *mine : known)
      if (const Variable &their = theirs.at(mine->name); their.type != mine->type || their.shape != mine->shape)
        return absl::InvalidArgumentError(absl::StrCat("variable @", mine->name,
                                                       " is taken from a session in which it "
                                                       "has another shape or type; rename one of them"));
    kept.forget();
    for (const runtime::VariableInfo *mine : known)
      SPLITCAST_RETURN_IF_ERROR(
          other.streamVariable(mine->name, std::nullopt, [&](const sbp::Interval &part, const void *data) {
            return state->writeElements(*mine, part, data);
          }));
    for (const runtime::VariableInfo &mine : state->all())
      theirs.erase(mine.name);
    for (const auto &[name, variable] : theirs)
      result.unused.push_back(name);
    return result;
  }

  //--- Reports ------------------------------------------------------------------------------------------------------//

  int64_t sharedBytes() const override { return executor->sharedBytes(); }
  std::string whyNotShared() const override { return executor->whyNotShared(); }
  MemoryReport memoryReport(const std::string &name) const override {
    absl::StatusOr<const Function *> function = find(name);
    if (!function.ok())
      return {};
    MemoryReport report = memory->of((*function)->point);
    report.snapshotBytes = savesBeside ? state->snapshotBytes() : 0;
    return report;
  }
  CommunicationReport communicationReport(const std::string &name) const override {
    absl::StatusOr<const Function *> function = find(name);
    SymbolTableCollection symbols;
    return function.ok() ? reportCommunication((*function)->point, symbols) : CommunicationReport();
  }
  runtime::Communicator &ranksOfSession() override { return communicator; }
  std::optional<sbp::Policy> chosenPolicy() const override { return chosen; }
  int64_t scratchBytes() const override { return device.scratchBytes(); }
  ModuleOp plan() override { return *plans; }

private:
  absl::StatusOr<const Function *> find(const std::string &name) const {
    auto known = byName.find(name);
    if (known != byName.end())
      return &known->second;
    std::string message = absl::StrCat("the module has no function @", name, "; it has");
    for (const auto &[other, function] : byName)
      absl::StrAppend(&message, " @", other);
    return absl::NotFoundError(message);
  }

  static absl::StatusOr<absl::Span<std::byte>> pieceOf(const std::vector<Staging> &pieces, const std::string &function,
                                                       size_t index, const char *what) {
    if (index >= pieces.size())
      return absl::InvalidArgumentError(absl::StrCat("@", function, " has ", pieces.size(), " ", what, "; number ",
                                                     index, " (from 0) was asked for"));
    return absl::MakeSpan(pieces[index].data.get(), pieces[index].bytes);
  }

  /// The part of a tensor that a rank has, of each micro-batch.
  static sbp::Box boxOf(const exec::EntryTensor &tensor, int64_t rank) {
    sbp::NdAttr signature = sbp::signatureOf(tensor.type);
    sbp::Placement placement = signature.getPlacement().toAlgebra();
    int64_t position = 0;
    for (int64_t p = 0; p < placement.numPositions(); ++p)
      if ((placement.ranks.empty() ? p : placement.ranks[p]) == rank)
        position = p;
    return sbp::localBox(sbp::shapeOf(tensor.type), signature.toAlgebra(), placement, placement.coordinates(position));
  }

  /// The ranks that must give the same values for an input as this one. Of a
  /// partial value each rank has an addend of its own.
  std::vector<int64_t> ranksAlike(const exec::EntryTensor &tensor) const {
    std::vector<int64_t> alike;
    const sbp::NdSbp signature = sbp::signatureOf(tensor.type).toAlgebra();
    if (llvm::any_of(signature, [](const sbp::Sbp &axis) { return axis.isPartial(); }))
      return alike;
    const sbp::Box mine = boxOf(tensor, communicator.rank());
    for (int64_t rank = 0; rank < communicator.size(); ++rank)
      if (rank != communicator.rank() && boxOf(tensor, rank) == mine)
        alike.push_back(rank);
    return alike;
  }

  absl::StatusOr<TensorInfo> describe(const exec::EntryTensor &tensor) {
    SPLITCAST_ASSIGN_OR_RETURN(runtime::ElementType element, runtime::storedTypeOf(tensor.type));
    sbp::Shape shape = sbp::shapeOf(tensor.type);
    const sbp::Box box = boxOf(tensor, communicator.rank());
    std::vector<sbp::Box> boxes(tensor.parts, box);
    if (tensor.dim >= 0)
      for (int64_t part = 0; part < tensor.parts; ++part)
        boxes[part][tensor.dim].begin += part * shape[tensor.dim];
    if (tensor.dim >= 0)
      shape[tensor.dim] *= tensor.parts;
    return TensorInfo{tensor.name.str(), element, shape, std::move(boxes), tensor.bytes()};
  }

  absl::Status addTensors(ArrayRef<exec::EntryTensor> tensors, std::vector<TensorInfo> &infos,
                          std::vector<Staging> &data) {
    for (const exec::EntryTensor &tensor : tensors) {
      SPLITCAST_ASSIGN_OR_RETURN(TensorInfo info, describe(tensor));
      SPLITCAST_ASSIGN_OR_RETURN(Staging staging, Staging::create(device, info.localBytes));
      data.push_back(std::move(staging));
      infos.push_back(std::move(info));
    }
    return absl::OkStatus();
  }

  absl::Status addFunction(const exec::EntryPoint &point) {
    Function &function = byName[point.name.str()];
    function.point = point;
    SPLITCAST_ASSIGN_OR_RETURN(function.numbers, Staging::create(device, point.numbersBytes()));
    for (int64_t i = 0; i * static_cast<int64_t>(sizeof(i)) < function.numbers.bytes; ++i)
      std::memcpy(numberOf(function, i), &i, sizeof(i));
    absl::Status status = addTensors(point.inputs, function.inputs, function.inputData);
    for (const Staging &piece : function.inputData)
      function.inputPieces.emplace_back(piece.data.get(), piece.bytes);
    if (communicator.size() > 1) {
      std::vector<std::vector<int64_t>> alike;
      for (const exec::EntryTensor &input : point.inputs)
        alike.push_back(ranksAlike(input));
      function.alike.emplace(communicator.size(), alike);
    }
    return status.ok() ? addTensors(point.outputs, function.outputs, function.outputData) : status;
  }

  static std::byte *numberOf(const Function &function, int64_t microBatch) {
    return function.numbers.data.get() + microBatch * sizeof(microBatch);
  }

  //--- Runs ---------------------------------------------------------------------------------------------------------//

  /// From now on, messages belong to this run, and to what ranks must have given
  /// alike for it.
  void beginRun(const std::string &name, const Function &function) {
    ++activity->run;
    activity->function = name;
    if (!function.alike)
      return;
    const std::vector<uint64_t> digests = function.alike->digests(function.inputPieces);
    activity->alike.assign(digests.size(), 0);
    for (size_t rank = 0; rank < digests.size(); ++rank) {
      const auto number = static_cast<size_t>(communicator.numberOf(static_cast<int64_t>(rank)));
      activity->alike.resize(std::max(activity->alike.size(), number + 1));
      activity->alike[number] = digests[rank];
    }
    activity->values = [&function] { return valuesOf(function); };
  }

  /// For errors: the inputs that this rank has in common with others, as
  /// "rate = 0.5, x = (digest 7f3a20b1)".
  static std::string valuesOf(const Function &function) {
    std::string text;
    for (size_t input = 0; input < function.inputs.size(); ++input)
      if (function.alike->isShared(input))
        absl::StrAppend(&text, text.empty() ? "" : ", ", function.inputs[input].name, " = ",
                        valueText(function.inputs[input].type, function.inputPieces[input]));
    return text;
  }

  // All runs of a step are enqueued, with the copies of their inputs and
  // outputs, before the host waits. The host holds the inputs and outputs of
  // the whole step anyway.

  absl::Status enqueueRuns(const Function &function, bool leavesOutKept) {
    for (const exec::EntryRun &run : function.point.runs)
      for (int64_t microBatch = run.begin; microBatch < run.end && !(run.kept && leavesOutKept); ++microBatch)
        SPLITCAST_RETURN_IF_ERROR(enqueueRun(function, run, microBatch));
    return absl::OkStatus();
  }

  /// Calls `move` with each range of a plan, and the bytes of the entry point's
  /// inputs or outputs that belong to it in this micro-batch.
  using Move = llvm::function_ref<absl::Status(exec::RangeAttr range, std::byte *piece)>;
  static absl::Status forEachPiece(ArrayAttr ranges, ArrayRef<int64_t> numbers, ArrayRef<int64_t> ahead,
                                   ArrayRef<exec::EntryTensor> tensors, const std::vector<Staging> &pieces,
                                   int64_t microBatch, Move move) {
    for (auto [index, number] : llvm::enumerate(numbers)) {
      const exec::EntryTensor &tensor = tensors[number];
      if (tensor.partBytes == 0)
        continue;
      const int64_t part = tensor.dim < 0 ? 0 : microBatch + (ahead.empty() ? 0 : ahead[index]);
      std::byte *piece = pieces[number].data.get() + part * tensor.partBytes;
      SPLITCAST_RETURN_IF_ERROR(move(cast<exec::RangeAttr>(ranges[index]), piece));
    }
    return absl::OkStatus();
  }

  absl::Status enqueueRun(const Function &function, const exec::EntryRun &run, int64_t microBatch) {
    exec::PlanOp plan = run.plan;
    const exec::EntryPoint &point = function.point;
    absl::Status status =
        forEachPiece(plan.getInputs(), run.inputs, run.inputsAhead, point.inputs, function.inputData, microBatch,
                     [&](exec::RangeAttr range, std::byte *piece) { return executor->enqueueUpload(range, piece); });
    if (status.ok() && run.numbered)
      status = executor->enqueueUpload(cast<exec::RangeAttr>(plan.getInputs().getValue().back()),
                                       numberOf(function, microBatch));
    if (status.ok())
      status = executor->enqueue(plan.getSymName().str());
    return status.ok()
               ? forEachPiece(
                     plan.getOutputs(), run.outputs, run.outputsAhead, point.outputs, function.outputData, microBatch,
                     [&](exec::RangeAttr range, std::byte *piece) { return executor->enqueueDownload(piece, range); })
               : status;
  }

  runtime::Device &device;
  const std::shared_ptr<runtime::Activity> activity = std::make_shared<runtime::Activity>();
  const std::unique_ptr<runtime::Communicator> ranks;
  runtime::Communicator &communicator; ///< that of this session: `ranks`
  OwningOpRef<ModuleOp> plans;
  std::optional<MemoryReports> memory;
  CompileSeconds seconds;
  bool savesBeside = false;
  absl::Time lastPhase;
  std::string limited;               ///< part of the fingerprint; see fingerprint()
  std::optional<sbp::Policy> chosen; ///< the policy that is within the memory limit
  LargestPeak leastPeak;             ///< of the ways that exceed the limit; 0 bytes if there was none
  sbp::Policy policyOfLeast;
  std::map<std::string, Function> byName; // outlives the executor, which may have enqueued copies of its staging
  std::unique_ptr<runtime::Executor> executor;
  std::unique_ptr<runtime::Variables> state;
  exec::KeptResults kept;
  InexactSums inexactSums;
  absl::Status broken; ///< not OK: ranks may be at different places of the program
};

} // namespace

absl::Status Session::setInput(const std::string &function, size_t index, const void *piece) {
  absl::StatusOr<absl::Span<std::byte>> to = inputPiece(function, index);
  if (to.ok() && !to->empty())
    std::memcpy(to->data(), piece, to->size());
  return to.status();
}

absl::Status Session::getOutput(const std::string &function, size_t index, void *piece) {
  absl::StatusOr<absl::Span<const std::byte>> from = outputPiece(function, index);
  if (from.ok() && !from->empty())
    std::memcpy(piece, from->data(), from->size());
  return from.status();
}

absl::StatusOr<std::unique_ptr<Session>> Session::create(ModuleOp global, const SessionOptions &options,
                                                         runtime::Device &device, runtime::Communicator &communicator) {
  auto session = std::make_unique<SessionImpl>(device, communicator);
  SPLITCAST_RETURN_IF_ERROR(session->init(global, options));
  return session;
}

} // namespace splitcast
