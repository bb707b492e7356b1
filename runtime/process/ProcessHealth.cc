#include "runtime/process/ProcessHealth.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <cerrno>
#include <csignal>
#include <semaphore.h>
#include <thread>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

volatile std::sig_atomic_t endSignal = 0;

/// Posted by the handler: of what wakes a thread, only this may be called there.
sem_t *signalled() {
  static sem_t *semaphore = [] {
    auto *made = new sem_t; // outlives every thread
    sem_init(made, 0, 0);
    return made;
  }();
  return semaphore;
}

void noteSignal(int signal) {
  const int error = errno;
  endSignal = signal;
  sem_post(signalled());
  errno = error;
}

/// Waits for a signal, and ends the process if nothing else does.
void waitAndEnd(absl::Duration grace, const std::function<void(const absl::Status &)> &farewell) {
  while (sem_wait(signalled()) != 0) // another signal came
    ;
  absl::SleepFor(grace);
  // Should the farewell not come back, since nobody reads what it writes, say.
  std::signal(SIGALRM, SIG_DFL);
  alarm(1);
  farewell(processHealth());
  _exit(1);
}

} // namespace

void watchSignals() {
  signalled();
  struct sigaction action = {};
  action.sa_handler = noteSignal;
  // The default action comes back, so that a second signal ends a process at once.
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

void endOnSignals(absl::Duration grace, std::function<void(const absl::Status &)> farewell) {
  watchSignals();
  std::thread([grace, farewell = std::move(farewell)] { waitAndEnd(grace, farewell); }).detach();
}

} // namespace splitcast::runtime
