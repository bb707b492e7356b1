#include "runtime/executor/Profiler.h"

#include "dialects/sbp/Places.h"
#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

namespace splitcast::runtime {
namespace {

int64_t bytesOf(mlir::ArrayAttr ranges) {
  int64_t bytes = 0;
  for (auto range : ranges.getAsRange<exec::RangeAttr>())
    bytes += range.getBytes();
  return bytes;
}

/// Returns the parameters of a call's attribute, the text between its brackets,
/// such as "m = 2, n = 6".
std::string sizesOf(exec::LibraryCallAttrInterface call) {
  std::string text;
  llvm::raw_string_ostream(text) << mlir::Attribute(call);
  const size_t begin = text.find('<'), end = text.rfind('>');
  return begin == std::string::npos || end == std::string::npos ? text : text.substr(begin + 1, end - begin - 1);
}

ProfiledOp describe(exec::LaunchOp launch) {
  ProfiledOp profiled;
  profiled.kind = "kernel";
  profiled.name = launch.getKernel().getLeafReference().str();
  profiled.bytes = bytesOf(launch.getReads()) + bytesOf(launch.getWrites());
  for (int64_t place : launch.getInPlace())
    profiled.bytes += mlir::cast<exec::RangeAttr>(launch.getWrites()[place]).getBytes();
  return profiled;
}

ProfiledOp describe(exec::LibraryOp library) {
  const exec::LibraryCallAttrInterface call = library.getCall();
  ProfiledOp profiled;
  profiled.kind = call.getCallName().str();
  profiled.name = sizesOf(call);
  for (int64_t bytes : call.getOperandBytes()) // without the workspace
    profiled.bytes += bytes;
  profiled.flops = call.getFlops();
  profiled.isSmall = call.getType().isBF16() || call.getType().isF16();
  return profiled;
}

ProfiledOp describe(exec::CollectiveOp collective) {
  ProfiledOp profiled;
  profiled.kind = collective.getRule().name;
  profiled.name = collective.getWhat().str();
  profiled.bytes = collective.getData().getBytes();
  profiled.isOfRanks = true;
  return profiled;
}

ProfiledOp describe(exec::CopyOp copy) {
  ProfiledOp profiled;
  profiled.kind = "copy";
  profiled.bytes = 2 * copy.getFrom().getBytes();
  return profiled;
}

ProfiledOp describe(exec::ClearOp clear) {
  ProfiledOp profiled;
  profiled.kind = "clear";
  profiled.bytes = clear.getRange().getBytes();
  return profiled;
}

} // namespace

void Profiler::bound(mlir::Operation *op, int64_t index) {
  if (index == 0) {
    startedBy.clear();
    addLiveBytes(op->getParentOfType<exec::PlanOp>());
  }
  ProfiledOp profiled =
      llvm::TypeSwitch<mlir::Operation *, ProfiledOp>(op)
          .Case<exec::LaunchOp, exec::LibraryOp, exec::CopyOp, exec::ClearOp>([](auto of) { return describe(of); })
          .Case([&](exec::CollectiveOp collective) { return startedBy[collective.getTicket()] = describe(collective); })
          .Case([&](exec::WaitOp wait) {
            ProfiledOp of = startedBy[wait.getTicket()];
            of.kind = absl::StrCat("wait for ", of.kind);
            of.bytes = 0;
            return of;
          })
          .Default([](mlir::Operation *other) {
            ProfiledOp of;
            of.kind = other->getName().stripDialect().str();
            return of;
          });
  profiled.plan = op->getParentOfType<exec::PlanOp>().getSymName().str();
  profiled.index = index;
  profiled.place = std::string(absl::StripSuffix(splitcast::placeOf(op->getLoc()), ": "));
  auto collective = mlir::dyn_cast<exec::CollectiveOp>(op);
  profiled.stream = collective ? collective.getStream().str() : "compute";
  places[op] = static_cast<int32_t>(known.size());
  known.push_back(std::move(profiled));
}

void Profiler::addLiveBytes(exec::PlanOp plan) {
  const std::string name = plan.getSymName().str();
  // The session may have bound an earlier plan of this name, which this one
  // replaces.
  live.erase(std::remove_if(live.begin(), live.end(), [&](const LiveBytes &known) { return known.plan == name; }),
             live.end());
  const mlir::ArrayAttr buffers = plan.getBuffersAttr();
  if (!buffers)
    return;
  std::map<int64_t, std::map<std::string, int64_t>> changes; ///< by the op from which they count
  for (auto buffer : buffers.getAsRange<exec::BufferAttr>()) {
    const std::string role = exec::nameOf(buffer.getRole()).str();
    const int64_t bytes = buffer.getRange().getBytes();
    changes[std::max<int64_t>(0, buffer.getFirst())][role] += bytes;
    changes[buffer.getLast() + 1][role] -= bytes;
  }
  std::map<std::string, int64_t> bytes;
  for (const auto &[index, ofRoles] : changes) {
    for (const auto &[role, change] : ofRoles)
      bytes[role] += change;
    live.push_back({name, index, bytes});
  }
}

void Profiler::before(mlir::Operation *op, int64_t index, Stream &stream) { status.Update(clock->mark(stream)); }

void Profiler::after(mlir::Operation *op, int64_t index, Stream &stream) {
  status.Update(clock->mark(stream));
  enqueued.push_back(places.lookup(op));
}

absl::Status Profiler::waited() {
  SPLITCAST_RETURN_IF_ERROR(status);
  SPLITCAST_ASSIGN_OR_RETURN(const std::vector<int64_t> times, clock->times());
  for (size_t i = 0; i < enqueued.size(); ++i)
    add({enqueued[i], times[2 * i], times[2 * i + 1]});
  enqueued.clear();
  return absl::OkStatus();
}

void Profiler::add(const ProfiledRun &run) {
  ProfiledOp &profiled = known[run.op];
  if (profiled.runs++ == 0)
    return;
  const double seconds = static_cast<double>(run.end - run.begin) * 1e-9;
  profiled.seconds += seconds;
  profiled.leastSeconds = profiled.runs == 2 ? seconds : std::min(profiled.leastSeconds, seconds);
  if (kept.size() < mostRuns)
    kept.push_back(run);
}

} // namespace splitcast::runtime
