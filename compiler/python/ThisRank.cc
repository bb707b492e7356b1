#include "compiler/python/ThisRank.h"

#include "compiler/python/Errors.h"
#include "compiler/python/Keywords.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/job/Jobs.h"

#include <csignal>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace splitcast::python {

namespace {

// It is never destroyed: a forked child must leave alone what it shares.
std::unique_ptr<ThisRank> &thisRank = *new std::unique_ptr<ThisRank>;
bool initFailed = false;
/// What the package does when this process becomes a rank; null if nothing.
PyObject *atBegin = nullptr;

} // namespace

void ThisRank::begin(const nb::dict &options) {
  if (thisRank)
    raise(absl::FailedPreconditionError(
        initFailed
            ? "init() has failed before, and the job has begun without its options; correct that call, and start "
              "the program again"
            : "the job has already begun, by init() or by another call of splitcast; call init() once, before "
              "any other"));
  if (atBegin)
    nb::steal(std::exchange(atBegin, nullptr))();
  LaunchOptions launchOptions;
  Flags flags("splitcast.init", "");
  launchOptions.addTo(flags);
  const absl::Status parsed = parseKeywords(flags, options);
  struct sigaction ofPython = {};
  sigaction(SIGINT, nullptr, &ofPython);
  Launch::endOnSignals();
  auto job = std::make_unique<ThisRank>();
  absl::Status status = unlocked([&] {
    SPLITCAST_ASSIGN_OR_RETURN(job->ofRank, Launch::create(parsed.ok() ? launchOptions : LaunchOptions()));
    return job->ofRank->begin(parsed, flags);
  });
  // Nobody waits for a single rank, which may go on after a KeyboardInterrupt.
  if (job->ofRank && job->ofRank->size() == 1)
    sigaction(SIGINT, &ofPython, nullptr);
  if (job->ofRank)
    thisRank = std::move(job);
  initFailed = !status.ok();
  raiseUnlessOk(status);
}

ThisRank &ThisRank::get() {
  if (!thisRank)
    begin({});
  thisRank->requireNotEnded();
  return *thisRank;
}

bool ThisRank::hasBegun() { return thisRank && !isForked(); }

bool ThisRank::isForked() { return thisRank && thisRank->process != getpid(); }

void ThisRank::requireOwnProcess() {
  if (isForked())
    raise(absl::FailedPreconditionError("this process was forked from a rank, whose sessions and connections only the "
                                        "rank itself may use; do it there, "
                                        "or start a process of its own (multiprocessing's 'spawn')"));
}

void ThisRank::requireNotEnded() const {
  if (!ofRank)
    raise(absl::FailedPreconditionError("the job has ended; ranks, graphs and sessions can only be used before"));
}

int64_t ThisRank::beforeEnd(std::function<void()> close) {
  closers.emplace(next, std::move(close));
  return next++;
}

int ThisRank::end(const std::optional<std::string> &error) {
  if (!thisRank || !thisRank->ofRank)
    return error ? 1 : 0;
  Turn::awaitLast(); // another thread may be within a call
  const Turn turn;
  for (const auto &[number, close] : thisRank->closers)
    close();
  thisRank->closers.clear();
  return unlocked([&] {
    const absl::Status status = error ? absl::UnknownError(*error) : absl::OkStatus();
    const int exitStatus = thisRank->ofRank->end(thisRank->ofRank->finish(status));
    thisRank->ofRank = nullptr;
    return exitStatus;
  });
}

void bindThisRank(nb::module_ &module) {
  module.def(
      "init", [](const nb::kwargs &options) { ThisRank::begin(options); },
      "Joins the job of the launcher that started this process (mpirun, srun, torchrun), or begins a job of a single "
      "rank.\n\nThe first call that needs a rank, a graph or a session calls it with defaults. For other options, "
      "call it once before that, on all ranks. The keywords are the flags of the examples: timeout (seconds), threads "
      "(per rank), device, transport, profile, kernel_cache, ...");
  module.def("rank", [] { return ThisRank::get().launch().rank(); }, "This rank's number, from 0.");
  module.def("size", [] { return ThisRank::get().launch().size(); }, "The number of ranks in the job.");
  module.def(
      "device", [] { return ThisRank::get().launch().options().deviceKind; },
      "The kind of device that the ranks compute on, such as \"cpu\".");
  module.def(
      "exchange",
      [](const std::string &text, const std::string &what) {
        ThisRank::requireOwnProcess();
        Launch &launch = ThisRank::get().launch();
        return valueOrRaise(unlocked([&] { return launch.communicator().exchange(text, {what}); }));
      },
      nb::arg("text"), nb::arg("what") = "texts",
      "Returns the texts of all ranks, by rank. All ranks must call it at the same point, each with a text of its "
      "own.");
  module.def(
      "agree_alike",
      [](const std::string &text, const std::string &what) {
        ThisRank::requireOwnProcess();
        Launch &launch = ThisRank::get().launch();
        raiseUnlessOk(unlocked([&] { return launch.agreeAlike(text, what); }));
      },
      nb::arg("text"), nb::arg("what"),
      "Raises an error on all ranks unless they all give the same text. All ranks must call it at the same point.");
  module.def("_at_begin", [](nb::object call) { atBegin = call.release().ptr(); });
  module.def("_has_begun", &ThisRank::hasBegun);
  module.def("_rank_from_environment", &runtime::rankFromEnvironment);
  module.def("_end", &ThisRank::end, nb::arg("error") = nb::none());
}

} // namespace splitcast::python
