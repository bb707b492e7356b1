#include "runtime/host/calls/LibraryCall.h"

#include "absl/strings/str_cat.h"

#include <csignal>
#include <map>

namespace splitcast::runtime {
namespace {

std::map<std::string, LibraryCallFactory> &registry() {
  static std::map<std::string, LibraryCallFactory> factories;
  return factories;
}

/// Lets no signal interrupt this thread while it exists, but for those of errors
/// of the thread itself.
class WithoutSignals {
public:
  WithoutSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int ofErrors : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      sigdelset(&blocked, ofErrors);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
  }
  WithoutSignals(const WithoutSignals &) = delete;
  WithoutSignals &operator=(const WithoutSignals &) = delete;
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before = {};
};

/// oneDNN's products may move the stack pointer into memory of theirs, where the
/// frame of a signal's handler would overwrite other memory: oneDNN 2.6 does, and
/// heaps were corrupted. So signals wait until a call is done.
class Undisturbed final : public Launchable {
public:
  explicit Undisturbed(std::unique_ptr<Launchable> call) : call(std::move(call)) {}

  int64_t workspaceBytes() const override { return call->workspaceBytes(); }
  int64_t scratchBytes() const override { return call->scratchBytes(); }
  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    const WithoutSignals guard;
    return call->launch(buffers, stream);
  }

private:
  const std::unique_ptr<Launchable> call;
};

} // namespace

LibraryCallRegistration::LibraryCallRegistration(const char *name, LibraryCallFactory factory) {
  registry()[name] = factory;
}

absl::StatusOr<std::unique_ptr<Launchable>> createLibraryCall(exec::LibraryCallAttrInterface call,
                                                              const LibraryCallOptions &options) {
  const std::string name = call.getCallName().str();
  auto found = registry().find(name);
  if (found != registry().end()) {
    absl::StatusOr<std::unique_ptr<Launchable>> made = found->second(call, options);
    return made.ok() ? std::make_unique<Undisturbed>(*std::move(made)) : std::move(made);
  }
  std::string known;
  for (const auto &[other, factory] : registry())
    absl::StrAppend(&known, known.empty() ? "" : ", ", other);
  return absl::UnimplementedError(absl::StrCat("the host device has no library call '", name, "'; it has: ", known));
}

} // namespace splitcast::runtime
