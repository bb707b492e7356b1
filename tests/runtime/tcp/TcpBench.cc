//===- TcpBench.cc - What our messages cost beside raw sockets --------------===//
//
//   bazel-bin/tests/runtime/tcp/tcp_bench
//
// Two processes of this machine, over loopback. Prints median and best, in turns, of
//
//   100 MB one way, and the answer of a byte    by our transport, and by send() and recv() on a socket
//   8 bytes there and back                      the same, and with as many bytes as our message has with its header
//   frames                                      what it takes to make the frame of a message and to compare it
//
// Our transport sends and compares a frame with each message (Frame.h). Before a rank sleeps, it polls for half a
// millisecond, as in collectives; so do the raw sockets.
//
//===----------------------------------------------------------------------===//
#include "runtime/tcp/TcpJob.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace splitcast::runtime;

namespace {

constexpr int64_t kLongBytes = 100'000'000, kShortBytes = 8;
/// A header of TcpMesh: length, channel and frame.
constexpr int64_t kHeaderBytes = 8 + 16 + static_cast<int64_t>(sizeof(Frame));
constexpr int kLongRepeats = 30, kBatches = 30, kBatch = 1000;
constexpr absl::Duration kLongest = absl::Milliseconds(5);

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// What moves bytes between the two processes. A failure ends the program.
class Way {
public:
  virtual ~Way() = default;
  virtual void send(std::byte *data, int64_t bytes) = 0;
  virtual void receive(std::byte *data, int64_t bytes) = 0;
};

[[noreturn]] void fail(const std::string &what) {
  std::fprintf(stderr, "tcp_bench: error: %s\n", what.c_str());
  std::exit(1);
}

class OurWay final : public Way {
public:
  explicit OurWay(Transport &transport) : transport(transport), peer(1 - transport.rank()) {}
  void send(std::byte *data, int64_t bytes) override { wait(transport.send(peer, 1, data, bytes, next())); }
  void receive(std::byte *data, int64_t bytes) override { wait(transport.receive(peer, 1, data, bytes, next())); }

private:
  Frame next() { return {7, static_cast<uint32_t>(mixed(3, calls++)), 5, 1, 2}; }
  void wait(absl::StatusOr<std::unique_ptr<Message>> message) {
    if (!message.ok())
      fail(std::string(message.status().message()));
    for (const Clock::time_point begin = Clock::now();;) {
      absl::StatusOr<bool> done = (*message)->test();
      if (!done.ok())
        fail(std::string(done.status().message()));
      if (*done)
        return;
      transport.idle(absl::FromChrono(Clock::now() - begin), kLongest);
    }
  }

  Transport &transport;
  int64_t peer;
  uint64_t calls = 0;
};

/// Blocks in long calls; polls for short ones.
class RawWay final : public Way {
public:
  explicit RawWay(int socket) : socket(socket) {}
  void send(std::byte *data, int64_t bytes) override {
    for (int64_t done = 0; done < bytes;)
      done += moved(::send(socket, data + done, bytes - done, MSG_NOSIGNAL));
  }
  void receive(std::byte *data, int64_t bytes) override {
    const int flags = bytes < 4096 ? MSG_DONTWAIT : 0;
    for (int64_t done = 0; done < bytes;)
      done += moved(recv(socket, data + done, bytes - done, flags));
  }

private:
  static int64_t moved(ssize_t count) {
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
      fail("a raw socket is lost");
    if (count < 0)
      sched_yield();
    return std::max<int64_t>(count, 0);
  }
  int socket;
};

struct Row {
  const char *name;
  std::function<void()> run;
  std::vector<double> seconds = {};
};

/// In turns, so that what else the machine does meets all of them. `unit` is what a second is multiplied by.
void compare(const char *what, std::vector<Row> rows, int repeats, double unit, const char *unitName, bool prints) {
  for (int i = 0; i < repeats; ++i)
    for (Row &row : rows) {
      const Clock::time_point begin = Clock::now();
      row.run();
      row.seconds.push_back(secondsSince(begin) * unit);
    }
  for (Row &row : rows) {
    std::sort(row.seconds.begin(), row.seconds.end());
    if (prints)
      std::printf("%-10s %-26s median %8.3f %s, best %8.3f %s, raw / this: %.2f, %.2f\n", what, row.name,
                  row.seconds[repeats / 2], unitName, row.seconds[0], unitName,
                  rows[0].seconds[repeats / 2] / row.seconds[repeats / 2], rows[0].seconds[0] / row.seconds[0]);
  }
}

void moveLong(Way &way, bool isFirst, std::vector<std::byte> &data) {
  std::byte answer{};
  if (isFirst) {
    way.send(data.data(), kLongBytes);
    way.receive(&answer, 1);
  } else {
    way.receive(data.data(), kLongBytes);
    way.send(&answer, 1);
  }
}

void thereAndBack(Way &way, bool isFirst, int64_t bytes) {
  std::array<std::byte, kShortBytes + kHeaderBytes> data = {};
  for (int i = 0; i < kBatch; ++i)
    for (bool sends : {isFirst, !isFirst})
      sends ? way.send(data.data(), bytes) : way.receive(data.data(), bytes);
}

/// Makes and compares frames, as a call and its message do.
void compareFrames() {
  uint32_t unlike = 0;
  const std::string function = "train";
  for (uint64_t i = 0; i < kBatch; ++i) {
    volatile uint64_t number = i; // as if it came from another process
    const Frame mine{7, static_cast<uint32_t>(mixed(digestOf(function), mixed(3, i))), 5, 1, 2};
    const Frame theirs{7, static_cast<uint32_t>(mixed(digestOf(function), mixed(3, number))), 5, 1, 2};
    unlike += mine != theirs ? 1 : 0;
  }
  if (unlike != 0)
    fail("equal frames are unlike");
}

void runRank(int64_t rank, const Endpoint &master, int socket) {
  auto job = TcpJob::create({rank, 2, master, absl::Seconds(60)});
  if (!job.ok())
    fail(std::string(job.status().message()));
  auto transport = (*job)->createTransport();
  if (!transport.ok())
    fail(std::string(transport.status().message()));
  RawWay raw(socket);
  OurWay ours(**transport);
  const bool isFirst = rank == 0;
  std::vector<std::byte> data(kLongBytes, std::byte{1});
  compare("100 MB", {{"raw", [&] { moveLong(raw, isFirst, data); }}, {"ours", [&] { moveLong(ours, isFirst, data); }}},
          kLongRepeats, 1e3, "ms", isFirst);
  compare("8 bytes",
          {{"raw", [&] { thereAndBack(raw, isFirst, kShortBytes); }},
           {"raw, with 48 bytes more", [&] { thereAndBack(raw, isFirst, kShortBytes + kHeaderBytes); }},
           {"ours", [&] { thereAndBack(ours, isFirst, kShortBytes); }}},
          kBatches, 1e6 / kBatch, "us", isFirst);
  if (isFirst)
    compare("frames", {{"made twice, and compared", compareFrames}}, kBatches, 1e6 / kBatch, "us", true);
}

/// Returns the two ends of a connection over loopback.
std::array<int, 2> connectRaw() {
  Patience patience(absl::Seconds(10));
  auto listener = listenAt({"127.0.0.1", 0});
  auto one = connectTo(*localEndpoint(*listener), patience);
  auto other = acceptNext(*listener);
  if (!one.ok() || !other.ok())
    fail("a raw connection cannot be made");
  std::array<int, 2> ends = {dup(one->fd()), dup(other->fd())}; // which a forked child keeps
  for (int end : ends)
    fcntl(end, F_SETFL, fcntl(end, F_GETFL) & ~O_NONBLOCK);
  return ends;
}

} // namespace

int main() {
  const Endpoint master{"127.0.0.1", localEndpoint(*listenAt({"127.0.0.1", 0}))->port};
  const std::array<int, 2> ends = connectRaw();
  const pid_t child = fork();
  if (child < 0)
    fail("a process cannot be started");
  runRank(child == 0 ? 1 : 0, master, ends[child == 0 ? 1 : 0]);
  int status = 0;
  return child == 0 || (waitpid(child, &status, 0) == child && status == 0) ? 0 : 1;
}
