#include "runtime/host/ProcessHealth.h"

#include "absl/strings/str_cat.h"

#include <csignal>

namespace splitcast::runtime {
namespace {

volatile std::sig_atomic_t endSignal = 0;

void noteSignal(int signal) { endSignal = signal; }

} // namespace

void watchSignals() {
  struct sigaction action = {};
  action.sa_handler = noteSignal;
  // The default action comes back, so that a second signal ends a process that does not look.
  action.sa_flags = SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

absl::Status processHealth() {
  if (endSignal == 0)
    return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("this process was told to end by ", endSignal == SIGTERM ? "SIGTERM" : "SIGINT"));
}

} // namespace splitcast::runtime
