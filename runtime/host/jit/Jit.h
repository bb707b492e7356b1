//===- Jit.h - Compiles and loads kernels ------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_JIT_JIT_H
#define SPLITCAST_RUNTIME_HOST_JIT_JIT_H

#include "runtime/api/Device.h"
#include "runtime/host/jit/JitKernelSource.h"
#include "runtime/host/jit/JitObjectCache.h"
#include "runtime/host/jit/JitTarget.h"
#include "runtime/workers/WorkerPool.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace llvm {
class Error;
} // namespace llvm
namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace splitcast::runtime {

class PerfMap;

struct JitOptions {
  /// How many kernels are compiled at a time.
  int threads = 1;
  /// See HostDeviceOptions::objectCacheDir.
  std::string objectCacheDir;
  /// The CPU to compile for. It may be another one whose code this CPU runs, to see what that one would compute.
  JitTarget target = hostTarget();
  /// The threads among which kernels are divided. If it is null, kernels are not divided.
  std::shared_ptr<WorkerPool> pool = nullptr;
  /// See HostDeviceOptions::namesForPerf.
  bool namesForPerf = false;
  /// See HostDeviceOptions::warns.
  bool warns = true;
};

/// Counts the kernels of all loads so far. Equal kernels count once.
struct JitStatistics {
  int64_t compiled = 0;
  int64_t readFromCache = 0;
};

/// Holds the code of every kernel that it has loaded until it is destroyed. Libraries and kernels keep it alive.
/// Several threads may use it.
class Jit : public std::enable_shared_from_this<Jit> {
public:
  explicit Jit(const JitOptions &options);
  ~Jit();

  /// Implements Device::loadKernels. A kernel that equals an earlier one, under whatever name, is not compiled again.
  absl::StatusOr<std::unique_ptr<KernelLibrary>> load(mlir::ModuleOp module);

  JitStatistics statistics() const;
  /// Whether generated code may get names for Linux's perf: it was asked for, and the file for them can be written.
  bool namesForPerf() const { return perfMap != nullptr; }
  /// Returns null if kernels are not divided.
  WorkerPool *pool() const { return options.pool.get(); }

private:
  using Entry = void (*)(void **);
  /// A kernel that is not loaded yet.
  struct Pending {
    const KernelSource *source;
    std::string key;
    std::string object;
    absl::Status status;
    bool fromCache = false;
    absl::Status cached; ///< why what the cache has is not used
  };

  absl::Status loadSources(const std::vector<KernelSource> &sources);
  std::vector<Pending> pendingOf(const std::vector<KernelSource> &sources);
  void compileAll(std::vector<Pending> &pending);
  void keep(const Pending &compiled);
  void warn(const absl::Status &status);
  llvm::Error open();
  absl::StatusOr<Entry> link(const Pending &compiled);
  std::string keyOf(const KernelSource &source) const;

  const JitOptions options;
  JitObjectCache cache;
  const std::string description;
  mutable std::mutex mutex;
  std::unique_ptr<llvm::orc::LLJIT> session;
  std::string linkErrors;
  std::map<std::string, Entry> entries;
  std::unique_ptr<PerfMap> perfMap; ///< null without namesForPerf
  JitStatistics counts;
  bool warned = false;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_JIT_JIT_H
