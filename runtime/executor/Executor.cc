#include "runtime/executor/Executor.h"

#include "dialects/exec/SharedStorages.h"
#include "dialects/sbp/Places.h"
#include "dialects/sbp/algebra/Sizes.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/executor/StoredType.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "llvm/Support/xxhash.h"

namespace splitcast::runtime {

namespace {

using Run = std::function<absl::Status()>;

absl::StatusOr<Run> asRun(Run run) { return run; }

/// The status, with the place in front of its message.
absl::Status at(const std::string &place, const absl::Status &status) {
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(place, std::string(status.message())));
}

/// The variable pieces are known to fit into their storages only if the module
/// names its rank: the verifier checks them for that rank.
absl::Status checkStorages(mlir::ModuleOp plans) {
  for (auto storage : plans.getOps<exec::StorageOp>())
    if (!storage.getMembers().empty() && !plans->hasAttr("ccl.rank"))
      return absl::InvalidArgumentError(absl::StrCat(
          "the plan has variables, in @", storage.getSymName().str(),
          ", but its module does not say which rank it is for; give it 'ccl.rank', as 'sbp-localize' does"));
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::unique_ptr<Executor>> Executor::bind(mlir::ModuleOp plans, Device &device,
                                                         Communicator &communicator, ExecutorObserver *observer,
                                                         bool needsOneCopy) {
  auto ranks = plans->getAttrOfType<mlir::IntegerAttr>("ccl.ranks");
  if (ranks && ranks.getInt() != communicator.size())
    return absl::InvalidArgumentError(absl::StrCat("the plan is for ", ranks.getInt(), " ranks, but ",
                                                   communicator.size(),
                                                   " are running; start as many as the placement has"));
  SPLITCAST_RETURN_IF_ERROR(checkStorages(plans));
  std::unique_ptr<Executor> executor(new Executor(device, observer));
  // Kernels are loaded first, so that the memory that compiling took is free
  // again when the spaces get their pages.
  SPLITCAST_RETURN_IF_ERROR(executor->loadKernels(plans));
  SPLITCAST_ASSIGN_OR_RETURN(executor->groups, Groups::create(plans, communicator));
  SPLITCAST_RETURN_IF_ERROR(executor->share(plans, communicator));
  if (needsOneCopy) {
    SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> failures,
                               communicator.exchange(executor->notShared, {"agreeing on shared memory"}));
    if (std::any_of(failures.begin(), failures.end(), [](const std::string &each) { return !each.empty(); }))
      return nullptr;
  }
  SPLITCAST_RETURN_IF_ERROR(executor->allocate(plans));
  for (auto plan : plans.getOps<exec::PlanOp>())
    SPLITCAST_RETURN_IF_ERROR(executor->bindPlan(plan));
  SPLITCAST_RETURN_IF_ERROR(executor->registerMemory(plans));
  return executor;
}

Executor::~Executor() {
  underWay.clear();
  streams.clear(); // unfinished work (after an error) still uses what is destroyed below
  bound.clear();
  launchables.clear();
  registrations.clear();
  for (auto &space : spaces)
    if (shared.count(space.first()) == 0)
      device.release(space.second);
  shared.clear();
}

namespace {

/// A space that ranks may share.
struct Sharing {
  exec::SpaceOp space;
  exec::CollectiveOp gather; ///< an all-gather into this space
  std::string text;          ///< what lies where, and where the ranks meet: the same on all ranks that share a copy
  bool hasFault = false;
  int64_t ownBytes = 0; ///< the size of this rank's blocks
};

/// Ordered by key, so that all ranks go through their common entries in the
/// same order.
using Sharings = std::map<std::pair<GroupOnStream, std::string>, Sharing>;

Sharings sharingsOf(mlir::ModuleOp plans, Groups &groups) {
  Sharings sharings;
  const exec::Spaces spaces(plans);
  for (const exec::SharedStorage &storage : exec::sharedStoragesOf(plans)) {
    exec::CollectiveOp gather = storage.gather;
    exec::SpaceOp space = spaces.of(gather.getData());
    if (!space.getGroup())
      continue;
    Sharing &sharing = sharings[{groups.keyOf(gather), space.getSymName().str()}];
    sharing.space = space;
    sharing.gather = gather;
    sharing.hasFault |= storage.faulty != nullptr;
    sharing.ownBytes += exec::RangeAttr(storage.own).getBytes();
    absl::StrAppend(&sharing.text, gather.getData().getOffset(), " ", exec::lineOf(storage), "\n");
  }
  return sharings;
}

/// Returns a hash of everything that must be equal on all ranks before they may
/// share the space, or "" if this rank cannot share it.
std::string tokenOf(const Sharings::value_type &sharing) {
  const auto &[stream, ranks] = sharing.first.first;
  exec::SpaceOp space = sharing.second.space;
  const std::string text = absl::StrCat(stream, ":", absl::StrJoin(ranks, ","), " ", sharing.first.second, " ",
                                        space.getBytes(), "\n", sharing.second.text);
  return sharing.second.hasFault ? "" : absl::StrCat(absl::Hex(llvm::xxh3_64bits(text)));
}

} // namespace

// All ranks first learn which spaces every member of a group is ready to share.
// Only then is the group asked, so no rank waits for one that never asks.
absl::Status Executor::share(mlir::ModuleOp plans, Communicator &root) {
  const Sharings sharings = sharingsOf(plans, *groups);
  std::vector<std::string> tokens;
  for (const auto &sharing : sharings)
    tokens.push_back(tokenOf(sharing));
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> texts,
                             root.exchange(absl::StrJoin(tokens, " "), {"comparing shared spaces"}));
  std::vector<std::set<std::string>> byRank;
  for (const std::string &text : texts)
    byRank.push_back(absl::StrSplit(text, ' ', absl::SkipEmpty()));
  auto token = tokens.begin();
  for (const auto &sharing : sharings) {
    const std::string &mine = *token++;
    const std::vector<int64_t> &ranks = sharing.first.first.second;
    if (std::all_of(ranks.begin(), ranks.end(), [&](int64_t rank) { return byRank[rank].count(mine) > 0; }))
      SPLITCAST_RETURN_IF_ERROR(
          share(sharing.second.space, sharing.second.ownBytes, *groups->communicatorOf(sharing.second.gather)));
  }
  return absl::OkStatus();
}

absl::Status Executor::share(exec::SpaceOp space, int64_t ownBytes, Communicator &group) {
  const std::string name = space.getSymName().str();
  auto made = group.shareMemory(std::max<int64_t>(space.getBytes(), sbp::kAlignmentBytes),
                                {absl::StrCat("sharing space @", name)});
  if (absl::IsResourceExhausted(made.status())) {
    notShared = std::string(made.status().message());
    return absl::OkStatus();
  }
  if (!made.ok() || !*made)
    return made.status();
  if (group.rank() != 0)
    spacesOfOthers.insert(name);
  const Buffer memory = spaces[name] = (*made)->buffer();
  shared[name].reset(new SharedSpace{*std::move(made), SharedView(memory.bytes - ownBytes)});
  return absl::OkStatus();
}

int64_t Executor::sharedBytes() const {
  int64_t bytes = 0;
  for (const auto &space : shared)
    bytes += space.second->memory->buffer().bytes;
  return bytes;
}

absl::Status Executor::allocate(mlir::ModuleOp plans) {
  SPLITCAST_ASSIGN_OR_RETURN(Stream * stream, streamOf("compute"));
  for (auto space : plans.getOps<exec::SpaceOp>())
    if (spaces.count(space.getSymName()) == 0)
      SPLITCAST_RETURN_IF_ERROR(allocate(space));
  return stream->synchronize(); // the host may write to the spaces from here on
}

absl::Status Executor::allocate(exec::SpaceOp space) {
  SPLITCAST_ASSIGN_OR_RETURN(Stream * stream, streamOf("compute"));
  SPLITCAST_ASSIGN_OR_RETURN(Buffer allocated,
                             device.allocate(std::max<int64_t>(space.getBytes(), sbp::kAlignmentBytes)));
  spaces[space.getSymName()] = allocated;
  if (!space.getKept()) {
    untouched.push_back(allocated);
    return absl::OkStatus();
  }
  absl::Status status = device.populate(allocated);
  return status.ok() ? device.clear(allocated, *stream) : status;
}

absl::Status Executor::loadKernels(mlir::ModuleOp plans) {
  for (auto module : plans.getOps<mlir::ModuleOp>()) {
    SPLITCAST_ASSIGN_OR_RETURN(kernels, device.loadKernels(module));
  }
  return absl::OkStatus();
}

absl::Status Executor::bindPlan(exec::PlanOp plan) {
  Bound &to = bound[plan.getSymName().str()];
  for (mlir::Operation &op : plan.getBody().front()) {
    SPLITCAST_ASSIGN_OR_RETURN(Step step, bindOp(&op));
    if (observer)
      observer->bound(&op, static_cast<int64_t>(to.steps.size()));
    to.steps.push_back(std::move(step));
  }
  return absl::OkStatus();
}

/// Returns a text that is equal on two ranks only if the buffers of each
/// collective begin at the same offset on both. It lists the spaces and the
/// ranges that collectives use.
static std::string layoutOf(mlir::ModuleOp plans) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto space : plans.getOps<exec::SpaceOp>())
    os << space.getSymName() << " " << space.getBytes() << "\n";
  for (auto plan : plans.getOps<exec::PlanOp>())
    for (auto op : plan.getBody().front().getOps<exec::CollectiveOp>()) {
      os << op.getData();
      if (op.isInPlace())
        os << " in place"; // the output is a rank's own block, so its offset differs between ranks
      else if (op.getOutput())
        os << " " << *op.getOutput();
      if (op.getWorkspace())
        os << " " << *op.getWorkspace();
      os << "\n";
    }
  return text;
}

absl::Status Executor::registerMemory(mlir::ModuleOp plans) {
  const std::string layout = layoutOf(plans);
  for (Communicator *communicator : groups->all())
    for (auto space : plans.getOps<exec::SpaceOp>()) { // in the same order on all ranks
      SPLITCAST_ASSIGN_OR_RETURN(
          std::unique_ptr<Registration> made,
          communicator->registerMemory(spaces[space.getSymName()], layout, {"registering memory"}));
      if (made)
        registrations.push_back(std::move(made));
    }
  return absl::OkStatus();
}

Buffer Executor::resolve(exec::RangeAttr range) const {
  return space(range.getSpace()).slice(range.getOffset(), range.getBytes());
}

absl::StatusOr<Stream *> Executor::streamOf(llvm::StringRef name) {
  std::unique_ptr<Stream> &stream = streams[name.str()];
  if (!stream) {
    SPLITCAST_ASSIGN_OR_RETURN(stream, device.createStream(name.str()));
  }
  return stream.get();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

absl::StatusOr<Executor::Step> Executor::bindOp(mlir::Operation *op) {
  SPLITCAST_ASSIGN_OR_RETURN(Stream * compute, streamOf("compute"));
  if (auto collective = mlir::dyn_cast<exec::CollectiveOp>(op))
    return bindCollective(collective, compute);
  SPLITCAST_ASSIGN_OR_RETURN(Run run, bindCompute(op, compute));
  return Step{op, compute, nullptr, std::move(run)};
}

absl::StatusOr<Run> Executor::bindCompute(mlir::Operation *op, Stream *compute) {
  if (auto launch = mlir::dyn_cast<exec::LaunchOp>(op)) {
    if (!kernels)
      return absl::InvalidArgumentError(absl::StrCat("the plan launches @", launch.getKernel().getLeafReference().str(),
                                                     ", but its module has no kernels; lower it with 'exec-lower'"));
    SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Launchable> kernel,
                               kernels->kernel(launch.getKernel().getLeafReference().str()));
    return bindLaunch(std::move(kernel), launch.getReads(), launch.getWrites(), compute);
  }
  if (auto library = mlir::dyn_cast<exec::LibraryOp>(op)) {
    SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Launchable> call, device.libraryCall(library.getCall()));
    const std::string place = splitcast::placeOf(op->getLoc());
    calls.emplace_back(call.get(), place);
    SPLITCAST_ASSIGN_OR_RETURN(Run run, bindLaunch(std::move(call), library.getReads(), library.getWrites(), compute));
    return asRun([run = std::move(run), place] { return at(place, run()); });
  }
  if (auto copy = mlir::dyn_cast<exec::CopyOp>(op))
    return asRun([this, compute, from = resolve(copy.getFrom()), to = resolve(copy.getTo())] {
      return device.copy(to, from, *compute);
    });
  if (auto clear = mlir::dyn_cast<exec::ClearOp>(op))
    return asRun([this, compute, range = resolve(clear.getRange())] { return device.clear(range, *compute); });
  if (auto wait = mlir::dyn_cast<exec::WaitOp>(op)) {
    Event *event = &underWay[wait.getTicket()];
    return asRun([compute, event] {
      absl::Status status = compute->waitFor(*event);
      event->reset();
      return status;
    });
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the plan holds '", op->getName().getStringRef().str(),
                   "', which the executor cannot run; lower the module with 'exec-lower'"));
}

absl::StatusOr<Run> Executor::bindLaunch(std::unique_ptr<Launchable> launchable, mlir::ArrayAttr reads,
                                         mlir::ArrayAttr writes, Stream *compute) {
  if (launchable->workspaceBytes() > 0)
    return absl::InternalError(absl::StrCat("a kernel or library call needs a workspace of ",
                                            launchable->workspaceBytes(), " bytes, but launches of a plan pass none"));
  std::vector<Buffer> buffers;
  for (mlir::ArrayAttr ranges : {reads, writes})
    for (auto range : ranges.getAsRange<exec::RangeAttr>())
      buffers.push_back(resolve(range));
  launchables.push_back(std::move(launchable));
  return asRun([launch = launchables.back().get(), buffers, compute] { return launch->launch(buffers, *compute); });
}

absl::StatusOr<Executor::Step> Executor::bindCollective(exec::CollectiveOp op, Stream *compute) {
  absl::StatusOr<Stream *> stream = streamOf(op.getStream());
  absl::StatusOr<Start> start = bindStart(op);
  for (const absl::Status &status : {stream.status(), start.status()})
    SPLITCAST_RETURN_IF_ERROR(status);
  // The collective starts behind the enqueued kernels: they compute what it
  // reads, and may still read what it overwrites.
  const Run prepare = [compute, on = *stream]() -> absl::Status {
    SPLITCAST_ASSIGN_OR_RETURN(Event enqueued, compute->record());
    return on->waitFor(enqueued);
  };
  const Run run = [event = &underWay[op.getTicket()], start = *start] {
    absl::StatusOr<Event> started = start();
    if (started.ok())
      *event = *started;
    return started.status();
  };
  return Step{op, *stream, prepare, run};
}

/// The call site of all collectives of plans.
static const uint64_t kPlanSite = digestOf("a collective of a plan");

absl::StatusOr<Executor::Start> Executor::bindStart(exec::CollectiveOp op) {
  absl::StatusOr<Stream *> stream = streamOf(op.getStream());
  absl::StatusOr<ElementType> type = storedTypeOf(op.getType());
  for (const absl::Status &status : {stream.status(), type.status()})
    SPLITCAST_RETURN_IF_ERROR(status);
  CallSite site{absl::StrCat(op.getRule().name, " of '", op.getWhat().str(), "' (collective ", op.getTicket(), " of @",
                             op->getParentOfType<exec::PlanOp>().getSymName().str(), ")")};
  // The ranks of a group have the same collectives in the same order, but their
  // plans may number and name them in other ways: a stage of a pipeline has
  // fewer. What tells them apart is the run, and how many came before.
  site.tag = kPlanSite;
  auto resolveAny = [&](std::optional<exec::RangeAttr> range) { return range ? resolve(*range) : Buffer(); };
  PreparedCollective collective(exec::callOf(op, groups->groupOf(op)), *type, resolve(op.getData()),
                                resolveAny(op.getOutput()), resolveAny(op.getWorkspace()));
  return Start([collective = std::move(collective), c = groups->communicatorOf(op), s = *stream, site] {
    return c->start(collective, *s, site);
  });
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

absl::Status Executor::enqueueOps(const Bound &plan) {
  int64_t index = 0;
  for (const Step &step : plan.steps) {
    if (step.prepare)
      SPLITCAST_RETURN_IF_ERROR(step.prepare());
    if (observer)
      observer->before(step.op, index, *step.stream);
    SPLITCAST_RETURN_IF_ERROR(step.run());
    if (observer)
      observer->after(step.op, index, *step.stream);
    ++index;
  }
  return absl::OkStatus();
}

absl::Status Executor::enqueue(const std::string &plan) {
  auto found = bound.find(plan);
  if (found == bound.end())
    return absl::NotFoundError(absl::StrCat("the module has no plan @", plan));
  SPLITCAST_ASSIGN_OR_RETURN(Stream * stream, streamOf("compute"));
  SPLITCAST_RETURN_IF_ERROR(populate());
  Bound &of = found->second;
  if (of.runs == 1 && !observer) {
    // Wait for the first run, so that everything it prepares is complete.
    SPLITCAST_RETURN_IF_ERROR(stream->synchronize());
    SPLITCAST_ASSIGN_OR_RETURN(of.captured, device.capture(*stream, [&] { return enqueueOps(of); }));
  }
  ++of.runs;
  return of.captured ? of.captured->replay(*stream) : enqueueOps(of);
}

absl::Status Executor::populate() {
  for (; !untouched.empty(); untouched.pop_back())
    SPLITCAST_RETURN_IF_ERROR(device.populate(untouched.back()));
  return absl::OkStatus();
}

absl::Status Executor::enqueueUpload(exec::RangeAttr to, std::byte *from) {
  SPLITCAST_RETURN_IF_ERROR(populate());
  absl::StatusOr<Stream *> stream = streamOf("compute");
  return stream.ok() ? device.copy(resolve(to), {from, to.getBytes()}, **stream) : stream.status();
}

absl::Status Executor::enqueueDownload(std::byte *to, exec::RangeAttr from) {
  absl::StatusOr<Stream *> stream = streamOf("compute");
  return stream.ok() ? device.copy({to, from.getBytes()}, resolve(from), **stream) : stream.status();
}

absl::Status Executor::wait() {
  SPLITCAST_ASSIGN_OR_RETURN(Stream * stream, streamOf("compute"));
  absl::Status status = stream->synchronize();
  // Only here, where all of a step is done: a rank that stopped in its midst
  // would keep the others waiting, or meet them in another collective.
  for (const auto &[call, place] : calls)
    status.Update(at(place, call->takeFinding()));
  return status.ok() && observer ? observer->waited() : status;
}

absl::Status Executor::run(const std::string &plan) {
  absl::Status status = enqueue(plan);
  return status.ok() ? wait() : status;
}

} // namespace splitcast::runtime
