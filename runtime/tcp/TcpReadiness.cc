#include "runtime/tcp/TcpReadiness.h"

#include <array>
#include <poll.h>
#include <sys/epoll.h>

namespace splitcast::runtime {
namespace {

epoll_event eventOf(uint64_t key, uint32_t events) {
  epoll_event event = {};
  event.events = ((events & Readiness::Reads) != 0 ? uint32_t{EPOLLIN} : 0) |
                 ((events & Readiness::Writes) != 0 ? uint32_t{EPOLLOUT} : 0);
  event.data.u64 = key;
  return event;
}

} // namespace

absl::StatusOr<Readiness> Readiness::create() {
  Readiness made;
  made.epoll = Socket::open([] { return epoll_create1(EPOLL_CLOEXEC); });
  if (!made.epoll.isOpen())
    return socketError("epoll");
  return made;
}

absl::Status Readiness::add(const Socket &socket, uint64_t key, uint32_t events) {
  epoll_event event = eventOf(key, events);
  return epoll_ctl(epoll.fd(), EPOLL_CTL_ADD, socket.fd(), &event) == 0 ? absl::OkStatus() : socketError("epoll");
}

void Readiness::change(const Socket &socket, uint64_t key, uint32_t events) {
  epoll_event event = eventOf(key, events);
  epoll_ctl(epoll.fd(), EPOLL_CTL_MOD, socket.fd(), &event);
}

void Readiness::remove(const Socket &socket) { epoll_ctl(epoll.fd(), EPOLL_CTL_DEL, socket.fd(), nullptr); }

void Readiness::wait(int milliseconds, absl::FunctionRef<void(uint64_t key, uint32_t events)> visit) {
  std::array<epoll_event, 64> ready;
  const int count = epoll_wait(epoll.fd(), ready.data(), static_cast<int>(ready.size()), milliseconds);
  for (int i = 0; i < count; ++i) {
    const bool reads = (ready[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
    const bool writes = (ready[i].events & EPOLLOUT) != 0;
    visit(ready[i].data.u64, (reads ? Reads : 0) | (writes ? Writes : 0));
  }
}

void Readiness::sleep(absl::Duration longest) const {
  pollfd events = {epoll.fd(), POLLIN, 0};
  (void)poll(&events, 1, static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(longest, absl::Milliseconds(1)))));
}

} // namespace splitcast::runtime
