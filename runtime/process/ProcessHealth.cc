#include "runtime/process/ProcessHealth.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <cerrno>
#include <csignal>
#include <pthread.h>
#include <semaphore.h>
#include <thread>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

volatile std::sig_atomic_t endSignal = 0;

/// The semaphore that the signal handler posts. Of all functions that wake a
/// thread, a handler may call only sem_post.
sem_t *signalled() {
  static sem_t *semaphore = [] {
    auto *made = new sem_t; // never deleted: it outlives every thread
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

/// A forked child has no thread that waits for signals, which would thus do
/// nothing: they end it, as by default.
void forgetSignals() {
  for (int signal : {SIGTERM, SIGINT}) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == noteSignal)
      std::signal(signal, SIG_DFL);
  }
}

/// Waits for a signal, and ends the process if nothing else does.
void waitAndEnd(absl::Duration grace, const std::function<void(const absl::Status &)> &farewell) {
  while (sem_wait(signalled()) != 0) // a signal interrupted the wait
    ;
  absl::SleepFor(grace);
  // Ends the process even if the farewell never returns, for instance because
  // nobody reads what it writes.
  std::signal(SIGALRM, SIG_DFL);
  alarm(1);
  farewell(processHealth());
  _exit(1);
}

} // namespace

void watchSignals() {
  signalled();
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, forgetSignals);
  struct sigaction action = {};
  action.sa_handler = noteSignal;
  // The first signal restores the default action, so that a second one ends the
  // process at once.
  action.sa_flags = SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN); // a write beyond the limit on files' sizes then returns an error
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
