#include "tests/gpu/EmulatedDevice.h"

#include "runtime/gpu/GpuProgram.h"
#include "tests/gpu/EmulatedCalls.h"
#include "tests/gpu/Fibers.h"
#include "tests/gpu/ThreadFunctions.h"

#include "absl/strings/str_cat.h"

namespace splitcast::gpu_tests {
namespace {

using runtime::Buffer;
using runtime::Device;
using runtime::Launchable;
using runtime::Stream;

struct BoundLaunch {
  runtime::GpuLaunch launch;
  ThreadFunction description;
  std::unique_ptr<Launchable> thread;
};

class EmulatedKernel : public Launchable {
public:
  EmulatedKernel(runtime::GpuKernel kernel, std::vector<BoundLaunch> launches)
      : kernel(std::move(kernel)), launches(std::move(launches)) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    if (absl::Status status = check(buffers); !status.ok())
      return status;
    for (BoundLaunch &bound : launches)
      if (absl::Status status = run(bound, buffers, stream); !status.ok())
        return absl::Status(status.code(), absl::StrCat("kernel @", kernel.name, ": ", status.message()));
    return absl::OkStatus();
  }

private:
  absl::Status check(absl::Span<const Buffer> buffers) const {
    if (buffers.size() != kernel.argumentBytes.size())
      return absl::InvalidArgumentError("wrong number of buffers");
    for (size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i].bytes != kernel.argumentBytes[i] ||
          (buffers[i].bytes > 0 && reinterpret_cast<uintptr_t>(buffers[i].data) % kernel.alignments[i] != 0))
        return absl::InvalidArgumentError(absl::StrCat("kernel @", kernel.name, ": argument ", i, " has ",
                                                       buffers[i].bytes, " bytes, or is not aligned to ",
                                                       kernel.alignments[i]));
    return absl::OkStatus();
  }

  static absl::Status run(BoundLaunch &bound, absl::Span<const Buffer> buffers, Stream &stream) {
    const auto &blocks = bound.launch.blocks;
    for (int64_t block = 0; block < blocks[0] * blocks[1] * blocks[2]; ++block) {
      const std::array<int64_t, 3> at = {block % blocks[0], block / blocks[0] % blocks[1],
                                         block / blocks[0] / blocks[1]};
      if (absl::Status status = runBlockAt(bound, at, buffers, stream); !status.ok())
        return status;
    }
    return absl::OkStatus();
  }

  static absl::Status runBlockAt(BoundLaunch &bound, const std::array<int64_t, 3> &block,
                                 absl::Span<const Buffer> buffers, Stream &stream) {
    const auto &sizes = bound.launch.threads;
    std::vector<Buffer> arguments;
    for (int64_t argument : bound.launch.arguments)
      arguments.push_back(buffers[argument]);
    std::vector<std::vector<std::byte>> shared;
    for (int64_t bytes : bound.description.sharedBytes)
      shared.emplace_back(bytes, std::byte(0xA5));
    for (std::vector<std::byte> &memory : shared)
      arguments.push_back({memory.data(), static_cast<int64_t>(memory.size())});
    absl::Status result;
    auto runThread = [&](int64_t number) {
      int64_t coordinates[kCoordinates] = {
          block[0], block[1], block[2], number % sizes[0], number / sizes[0] % sizes[1], number / sizes[0] / sizes[1]};
      std::vector<Buffer> own = arguments;
      own.push_back({reinterpret_cast<std::byte *>(coordinates), sizeof(coordinates)});
      absl::Status status = bound.thread->launch(own, stream);
      result.Update(status);
    };
    const int64_t threads = sizes[0] * sizes[1] * sizes[2];
    if (bound.description.synchronizes)
      result.Update(runBlock(threads, runThread));
    else
      for (int64_t number = 0; number < threads; ++number)
        runThread(number);
    return result;
  }

  const runtime::GpuKernel kernel;
  std::vector<BoundLaunch> launches;
};

class EmulatedLibrary : public runtime::KernelLibrary {
public:
  EmulatedLibrary(runtime::GpuProgram program, std::map<std::string, ThreadFunction> descriptions,
                  std::unique_ptr<runtime::KernelLibrary> threads)
      : program(std::move(program)), descriptions(std::move(descriptions)), threads(std::move(threads)) {}

  absl::StatusOr<std::unique_ptr<Launchable>> kernel(const std::string &name) override {
    for (const runtime::GpuKernel &kernel : program.kernels)
      if (kernel.name == name)
        return bind(kernel);
    return absl::NotFoundError(absl::StrCat("no kernel @", name));
  }

private:
  absl::StatusOr<std::unique_ptr<Launchable>> bind(const runtime::GpuKernel &kernel) {
    std::vector<BoundLaunch> launches;
    for (const runtime::GpuLaunch &launch : kernel.launches) {
      absl::StatusOr<std::unique_ptr<Launchable>> thread = threads->kernel(launch.function);
      if (!thread.ok())
        return thread.status();
      launches.push_back({launch, descriptions.at(launch.function), *std::move(thread)});
    }
    return std::make_unique<EmulatedKernel>(kernel, std::move(launches));
  }

  runtime::GpuProgram program;
  std::map<std::string, ThreadFunction> descriptions;
  std::unique_ptr<runtime::KernelLibrary> threads;
};

class EmulatedDevice : public Device {
public:
  explicit EmulatedDevice(const runtime::HostDeviceOptions &options) : host(runtime::createHostDevice(options)) {}

  std::string kind() const override { return host->kind(); }
  absl::StatusOr<Buffer> allocate(int64_t bytes) override { return host->allocate(bytes); }
  void release(Buffer buffer) override { host->release(buffer); }
  absl::StatusOr<std::unique_ptr<Stream>> createStream(const std::string &name) override {
    return host->createStream(name);
  }
  absl::StatusOr<std::unique_ptr<runtime::KernelLibrary>> loadKernels(mlir::ModuleOp kernels) override {
    if (!kernels.walk([](mlir::gpu::LaunchOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted())
      return host->loadKernels(kernels);
    absl::StatusOr<runtime::GpuProgram> program = runtime::cutIntoLaunches(kernels);
    if (!program.ok())
      return program.status();
    std::map<std::string, ThreadFunction> descriptions;
    mlir::OwningOpRef<mlir::ModuleOp> functions = threadFunctions(*program, descriptions);
    absl::StatusOr<std::unique_ptr<runtime::KernelLibrary>> threads = host->loadKernels(*functions);
    if (!threads.ok())
      return threads.status();
    return std::make_unique<EmulatedLibrary>(*std::move(program), std::move(descriptions), *std::move(threads));
  }
  absl::StatusOr<std::unique_ptr<Launchable>> libraryCall(exec::LibraryCallAttrInterface call) override {
    return emulateLibraryCall(*host, *this, call);
  }
  absl::Status copy(Buffer to, Buffer from, Stream &stream) override { return host->copy(to, from, stream); }
  absl::Status clear(Buffer buffer, Stream &stream) override { return host->clear(buffer, stream); }
  absl::Status upload(Buffer to, const void *from) override { return host->upload(to, from); }
  absl::Status download(void *to, Buffer from) override { return host->download(to, from); }

private:
  std::unique_ptr<Device> host;
};

} // namespace

std::unique_ptr<Device> createEmulatedDevice(const runtime::HostDeviceOptions &options) {
  return std::make_unique<EmulatedDevice>(options);
}

} // namespace splitcast::gpu_tests
