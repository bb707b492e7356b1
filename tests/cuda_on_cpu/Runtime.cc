//===- Runtime.cc - The CUDA runtime's calls that the project makes -------------------------------------------===//
//
// A handle is the address of what it stands for. There is one device, of compute capability 9.0
// (SPLITCAST_CUDA_ON_CPU_DEVICES: as many as it says).
//
//===----------------------------------------------------------------------===//
#include "tests/cuda_on_cpu/Runtime.h"
#include "tests/cuda_on_cpu/Memory.h"
#include "tests/cuda_on_cpu/Streams.h"
#include "tests/cuda_on_cpu/ptx/Ptx.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace splitcast::cuda_on_cpu {
namespace {

constexpr size_t kAlignment = 256; // cudaMalloc promises as much

struct Kernel {
  std::shared_ptr<const PtxModule> module;
  std::string name;
};

struct Library {
  std::shared_ptr<const PtxModule> module;
  std::map<std::string, Kernel> kernels;
};

struct GraphExec {
  std::shared_ptr<const Graph> graph;
};

Stream &legacyStream() {
  static auto *stream = new Stream;
  return *stream;
}

template <typename T, typename Handle> T &of(Handle handle) { return *reinterpret_cast<T *>(handle); }

thread_local int chosenDevice = 0;
std::atomic<int64_t> launches = 0, graphLaunches = 0;

/// SPLITCAST_CUDA_ON_CPU_REPORT names a file; a line of it is a process that has ended.
void report() {
  const char *path = std::getenv("SPLITCAST_CUDA_ON_CPU_REPORT");
  std::FILE *file = path ? std::fopen(path, "a") : nullptr;
  if (!file)
    return;
  const std::string line =
      absl::StrCat("{\"launches\": ", launches.load(), ", \"graph_launches\": ", graphLaunches.load(),
                   ", \"most_device_bytes\": ", Memory::get().mostDeviceBytes(),
                   ", \"device_bytes_at_exit\": ", Memory::get().deviceBytes(), "}\n");
  std::fwrite(line.data(), 1, line.size(), file);
  std::fclose(file);
}

/// SPLITCAST_CUDA_ON_CPU_FIRST: which of the machine's devices this process sees as its first.
int firstDevice() {
  const char *value = std::getenv("SPLITCAST_CUDA_ON_CPU_FIRST");
  return value ? std::atoi(value) : 0;
}

int deviceCount() {
  static const int count = [] {
    std::atexit(report);
    int number = 1;
    const char *value = std::getenv("SPLITCAST_CUDA_ON_CPU_DEVICES");
    return value && absl::SimpleAtoi(value, &number) ? number : 1;
  }();
  return count;
}

cudaError_t copyNow(void *to, const void *from, size_t bytes, const char *what) {
  return streamOf(cudaStreamLegacy).add({what, [=] {
                                           std::memmove(to, from, bytes);
                                           return absl::OkStatus();
                                         }});
}

absl::Status checkBoth(const void *to, const void *from, size_t bytes, cudaMemcpyKind kind, const char *what) {
  absl::Status status;
  // Memory that is not page-locked is no error to CUDA, but copies from it are not ordered as the caller believes.
  if (kind != cudaMemcpyDeviceToHost)
    status.Update(Memory::get().check(to, bytes, what));
  if (kind != cudaMemcpyHostToDevice)
    status.Update(Memory::get().check(from, bytes, what));
  return status;
}

/// An error of the caller: said, and returned.
cudaError_t refuse(cudaError_t error, const absl::Status &status) {
  std::fprintf(stderr, "cuda_on_cpu: error: %s\n", status.ToString().c_str());
  return error;
}

/// What the assembler says goes where the caller wants it.
void writeLog(const cudaJitOption *options, void **values, unsigned count, const std::string &text) {
  char *log = nullptr;
  size_t bytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == cudaJitErrorLogBuffer)
      log = static_cast<char *>(values[i]);
    if (options[i] == cudaJitErrorLogBufferSizeBytes)
      bytes = reinterpret_cast<uintptr_t>(values[i]);
  }
  if (log && bytes > 0)
    snprintf(log, bytes, "%s", text.c_str());
}

} // namespace

int currentDevice() { return firstDevice() + chosenDevice; }

Stream &streamOf(cudaStream_t stream) {
  return stream == cudaStreamLegacy || !stream ? legacyStream() : of<Stream>(stream);
}

} // namespace splitcast::cuda_on_cpu

using namespace splitcast::cuda_on_cpu; // the functions below are C's

extern "C" {

// ---- Devices and errors ----

cudaError_t cudaGetDeviceCount(int *count) {
  *count = deviceCount();
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= deviceCount())
    return cudaErrorInvalidDevice;
  chosenDevice = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
  *device = chosenDevice;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
  if (device < 0 || device >= deviceCount())
    return cudaErrorInvalidDevice;
  *properties = {};
  const int number = firstDevice() + device;
  std::memcpy(properties->uuid.bytes, &number, sizeof(number));
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
  case cudaDevAttrComputeCapabilityMajor:
    *value = 9;
    return cudaSuccess;
  case cudaDevAttrComputeCapabilityMinor:
    *value = 0;
    return cudaSuccess;
  default:
    return cudaErrorNotSupported;
  }
}

const char *cudaGetErrorName(cudaError_t error) {
  switch (error) {
  case cudaSuccess:
    return "cudaSuccess";
  case cudaErrorNoDevice:
    return "cudaErrorNoDevice";
  case cudaErrorMemoryAllocation:
    return "cudaErrorMemoryAllocation";
  case cudaErrorLaunchFailure:
    return "cudaErrorLaunchFailure";
  default:
    return "another error of CUDA";
  }
}

const char *cudaGetErrorString(cudaError_t error) {
  static thread_local std::string text;
  text = absl::StrCat("error ", static_cast<int>(error), " of CUDA on a CPU");
  return text.c_str();
}

// ---- Memory ----

cudaError_t cudaGetLastError() { return cudaSuccess; } // each call gives its own

cudaError_t cudaMalloc(void **data, size_t bytes) {
  *data = Memory::get().allocate(bytes, kAlignment, MemoryKind::Device);
  return *data ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *data) {
  return Memory::get().release(data, MemoryKind::Device) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaHostAlloc(void **data, size_t bytes, unsigned) {
  *data = Memory::get().allocate(bytes, kAlignment, MemoryKind::PageLocked);
  return *data ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void *data) {
  return Memory::get().release(data, MemoryKind::PageLocked) ? cudaSuccess : cudaErrorInvalidValue;
}

/// To the device it returns before it is done, as it does from memory that is not page-locked; the source has been
/// read.
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  if (absl::Status status = checkBoth(to, from, bytes, kind, "cudaMemcpy"); !status.ok())
    return refuse(cudaErrorInvalidValue, status);
  if (kind == cudaMemcpyHostToDevice) {
    auto staged = std::make_shared<std::string>(static_cast<const char *>(from), bytes);
    return legacyStream().add({"cudaMemcpy", [to, staged] {
                                 std::memcpy(to, staged->data(), staged->size());
                                 return absl::OkStatus();
                               }});
  }
  cudaError_t error = copyNow(to, from, bytes, "cudaMemcpy");
  return error == cudaSuccess ? synchronize(legacyStream()) : error;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return streamOf(stream).add({"cudaMemcpyAsync", [=] {
                                 absl::Status status = checkBoth(to, from, bytes, kind, "cudaMemcpyAsync");
                                 if (status.ok() && bytes > 0)
                                   std::memmove(to, from, bytes);
                                 return status;
                               }});
}

cudaError_t cudaMemsetAsync(void *data, int value, size_t bytes, cudaStream_t stream) {
  return streamOf(stream).add({"cudaMemsetAsync", [=] {
                                 absl::Status status = Memory::get().check(data, bytes, "cudaMemsetAsync");
                                 if (status.ok() && bytes > 0)
                                   std::memset(data, value, bytes);
                                 return status;
                               }});
}

cudaError_t cudaMemset(void *data, int value, size_t bytes) {
  return cudaMemsetAsync(data, value, bytes, cudaStreamLegacy);
}

// ---- Streams and events ----

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  if (flags != cudaStreamNonBlocking) // those that wait for the legacy stream
    return cudaErrorNotSupported;
  *stream = reinterpret_cast<cudaStream_t>(new Stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete &of<Stream>(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) { return query(streamOf(stream)); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return synchronize(streamOf(stream)); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return wait(streamOf(stream), of<Event>(event));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  auto *made = new Event;
  made->hasTime = (flags & cudaEventDisableTiming) == 0;
  *event = reinterpret_cast<cudaEvent_t>(made);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &of<Event>(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return record(of<Event>(event), streamOf(stream));
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return query(of<Event>(event)); }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return synchronize(of<Event>(event)); }
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return elapsed(*milliseconds, of<Event>(start), of<Event>(end));
}

// ---- Graphs ----

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return beginCapture(streamOf(stream));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status) {
  *status = isCapturing(streamOf(stream)) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  std::unique_ptr<Graph> made;
  cudaError_t error = endCapture(streamOf(stream), made);
  *graph = reinterpret_cast<cudaGraph_t>(made.release());
  return error;
}

/// The parts of an instance are its own.
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *instance, cudaGraph_t graph, unsigned long long) {
  *instance = reinterpret_cast<cudaGraphExec_t>(new GraphExec{std::make_shared<Graph>(of<Graph>(graph))});
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete &of<Graph>(graph);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t stream) {
  ++graphLaunches;
  return launch(of<GraphExec>(instance).graph, streamOf(stream));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t instance) {
  delete &of<GraphExec>(instance);
  return cudaSuccess;
}

// ---- Kernels ----

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, cudaJitOption *options, void **values,
                                unsigned count, cudaLibraryOption *, void **, unsigned) {
  auto module = PtxModule::parse(static_cast<const char *>(code));
  if (!module.ok()) {
    writeLog(options, values, count, std::string(module.status().message()));
    return refuse(cudaErrorInvalidPtx, module.status());
  }
  *library = reinterpret_cast<cudaLibrary_t>(new Library{*std::move(module), {}});
  return cudaSuccess;
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  delete &of<Library>(library);
  return cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
  auto &from = of<Library>(library);
  if (!from.module->hasKernel(name))
    return refuse(cudaErrorSymbolNotFound, absl::NotFoundError(absl::StrCat("there is no kernel ", name)));
  Kernel &found = from.kernels[name];
  found = {from.module, name};
  *kernel = reinterpret_cast<cudaKernel_t>(&found);
  return cudaSuccess;
}

/// Arguments are copied before it returns.
cudaError_t cudaLaunchKernel(const void *function, dim3 blocks, dim3 threads, void **arguments, size_t,
                             cudaStream_t stream) {
  const Kernel &kernel = of<const Kernel>(function);
  std::vector<std::string> values;
  for (int64_t bytes : kernel.module->argumentBytes(kernel.name))
    values.emplace_back(static_cast<const char *>(arguments[values.size()]), bytes);
  const PtxGrid grid = {{blocks.x, blocks.y, blocks.z}, {threads.x, threads.y, threads.z}};
  ++launches;
  return streamOf(stream).add(
      {kernel.name, [module = kernel.module, name = kernel.name, grid, values = std::move(values)] {
         std::vector<void *> addresses;
         for (const std::string &value : values)
           addresses.push_back(const_cast<char *>(value.data()));
         return module->run(name, grid, addresses.data(), Memory::get());
       }});
}

} // extern "C"
