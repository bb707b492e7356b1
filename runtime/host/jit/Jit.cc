#include "runtime/host/jit/Jit.h"

#include "runtime/api/LaunchCheck.h"
#include "runtime/api/SmallFloat.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/host/jit/JitCompiler.h"
#include "runtime/host/jit/PerfMap.h"

#include "absl/strings/str_cat.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <thread>

namespace splitcast::runtime {
namespace {

using Entry = void (*)(void **);

/// The function __truncsfbf2. LLVM calls it on CPUs without bf16 instructions
/// for a bf16 that lives across a branch, and GCC's library lacks it before GCC
/// 13. The result is in the lower half of what is returned, as the calling
/// convention requires.
float roundToBFloat16(float value) { return floatOf(BFloat16::round(value)); }

/// What a launch needs to know. The launchables of a kernel share it.
struct LoadedKernel {
  Entry entry;
  std::string what;
  std::vector<int64_t> argumentBytes;
  int64_t workspaceBytes;
  std::vector<DivisibleLoop> loops; ///< see KernelSource::loops
};

int64_t stepsOf(const DivisibleLoop &loop) { return (loop.iterations + loop.stride - 1) / loop.stride; }

int64_t partsOf(const DivisibleLoop &loop, const WorkerPool *pool) {
  return pool ? pool->partsFor(loop.bytes, stepsOf(loop)) : 1;
}

/// Returns where part `part` of `parts` begins. If a part has many steps, it
/// begins at a multiple of 64, so that parts do not share a cache line.
int64_t boundOf(const DivisibleLoop &loop, int64_t part, int64_t parts) {
  const int64_t steps = stepsOf(loop);
  const int64_t unit = steps >= 64 * parts ? 64 : 1;
  const int64_t step = part == parts ? steps : steps / unit * part / parts * unit;
  return std::min(step * loop.stride, loop.iterations);
}

/// The loops of a kernel that threads share run one after the other: a call for
/// a part of one loop has no iterations of the others. If threads share none,
/// there is one call for all.
class KernelLaunch : public Launchable {
public:
  KernelLaunch(std::shared_ptr<Jit> jit, LoadedKernel kernel) : jit(std::move(jit)), kernel(std::move(kernel)) {
    const WorkerPool *pool = this->jit->pool();
    bool isShared = false;
    for (const DivisibleLoop &loop : this->kernel.loops)
      isShared |= partsOf(loop, pool) > 1;
    if (!isShared)
      addCalls(std::nullopt, 1);
    for (size_t loop = 0; isShared && loop < this->kernel.loops.size(); ++loop)
      addCalls(loop, partsOf(this->kernel.loops[loop], pool));
  }

  int64_t workspaceBytes() const override { return kernel.workspaceBytes; }

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(kernel.what, kernel.argumentBytes, buffers));
    for (size_t call = 0; call < pointers.size(); call += slots())
      for (size_t i = 0; i < buffers.size(); ++i)
        pointers[call + i] = buffers[i].data;
    void **next = pointers.data();
    for (int64_t parts : calls) {
      auto run = [&](int64_t part) { kernel.entry(next + part * slots()); };
      if (parts == 1)
        run(0);
      else
        jit->pool()->run(parts, run);
      next += parts * slots();
    }
    return absl::OkStatus();
  }

private:
  /// Adds the calls that run this loop in parts; nullopt: one that runs all.
  void addCalls(std::optional<size_t> loop, int64_t parts) {
    calls.push_back(parts);
    for (int64_t part = 0; part < parts; ++part) {
      pointers.resize(pointers.size() + kernel.argumentBytes.size());
      for (size_t other = 0; other < kernel.loops.size(); ++other) {
        const bool runs = !loop || *loop == other;
        pointers.push_back(argument(runs ? boundOf(kernel.loops[other], part, parts) : 0));
        pointers.push_back(argument(runs ? boundOf(kernel.loops[other], part + 1, parts) : 0));
      }
    }
  }

  static void *argument(int64_t bound) { return reinterpret_cast<void *>(bound); } // NOLINT: a number among pointers
  size_t slots() const { return kernel.argumentBytes.size() + 2 * kernel.loops.size(); }

  std::shared_ptr<Jit> jit; // owns the code
  LoadedKernel kernel;
  std::vector<int64_t> calls;   ///< how many parts run at once
  std::vector<void *> pointers; ///< the arguments of all parts: the pointers, and the bounds of each loop
};

class LoadedLibrary : public KernelLibrary {
public:
  LoadedLibrary(std::shared_ptr<Jit> jit, std::map<std::string, LoadedKernel> kernels)
      : jit(std::move(jit)), kernels(std::move(kernels)) {}

  absl::StatusOr<std::unique_ptr<Launchable>> kernel(const std::string &name) override {
    auto found = kernels.find(name);
    if (found == kernels.end())
      return absl::NotFoundError(
          absl::StrCat("there is no kernel @", name, " among the ", kernels.size(), " of this module"));
    return std::unique_ptr<Launchable>(new KernelLaunch(jit, found->second));
  }

private:
  std::shared_ptr<Jit> jit;
  std::map<std::string, LoadedKernel> kernels;
};

std::unique_ptr<PerfMap> createPerfMap(const JitOptions &options) {
  const absl::Status prepared = options.namesForPerf ? PerfMap::prepareFile() : absl::OkStatus();
  if (!prepared.ok())
    llvm::errs() << "warning: no kernels get names for perf: " << std::string(prepared.message()) << "\n";
  return options.namesForPerf && prepared.ok() ? std::make_unique<PerfMap>() : nullptr;
}

std::string entryNameOf(const std::string &key) { return "splitcast_kernel_" + key; }

} // namespace

Jit::Jit(const JitOptions &options)
    : options(options), cache(options.objectCacheDir), description(JitCompiler::describe(options.target)),
      perfMap(createPerfMap(options)) {}

Jit::~Jit() = default;

JitStatistics Jit::statistics() const {
  std::lock_guard<std::mutex> lock(mutex);
  return counts;
}

std::string Jit::keyOf(const KernelSource &source) const { return sha256Hex(description + "\n" + source.text); }

absl::StatusOr<std::unique_ptr<KernelLibrary>> Jit::load(mlir::ModuleOp module) {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<KernelSource> sources, kernelSources(module));
  std::lock_guard<std::mutex> lock(mutex);
  SPLITCAST_RETURN_IF_ERROR(loadSources(sources));
  std::map<std::string, LoadedKernel> kernels;
  for (KernelSource &source : sources)
    kernels[source.name] = {entries.at(keyOf(source)), "kernel @" + source.name, source.argumentBytes,
                            source.workspaceBytes, source.loops};
  return std::unique_ptr<KernelLibrary>(new LoadedLibrary(shared_from_this(), std::move(kernels)));
}

std::vector<Jit::Pending> Jit::pendingOf(const std::vector<KernelSource> &sources) {
  std::vector<Pending> pending;
  std::set<std::string> seen;
  for (const KernelSource &source : sources) {
    std::string key = keyOf(source);
    if (!entries.count(key) && seen.insert(key).second)
      pending.push_back({&source, key, "", absl::OkStatus(), false, absl::OkStatus()});
  }
  return pending;
}

absl::Status Jit::loadSources(const std::vector<KernelSource> &sources) {
  std::vector<Pending> pending = pendingOf(sources);
  if (!pending.empty())
    warn(cache.open());
  compileAll(pending);
  for (const Pending &kernel : pending) {
    absl::StatusOr<Entry> entry = kernel.status.ok() ? link(kernel) : kernel.status;
    if (!entry.ok())
      return absl::Status(entry.status().code(),
                          absl::StrCat("kernel @", kernel.source->name, ": ", entry.status().message()));
    keep(kernel);
    entries[kernel.key] = *entry;
    if (perfMap)
      perfMap->add(kernel.source->name, reinterpret_cast<const void *>(*entry), kernel.object, entryNameOf(kernel.key));
  }
  return absl::OkStatus();
}

/// Each thread takes the next kernel that none has taken. Compilers share no
/// state.
void Jit::compileAll(std::vector<Pending> &pending) {
  std::atomic<size_t> next{0};
  auto work = [&] {
    std::unique_ptr<JitCompiler> compiler;
    for (size_t i = next++; i < pending.size(); i = next++) {
      Pending &kernel = pending[i];
      absl::StatusOr<std::optional<std::string>> cached = cache.read(kernel.key);
      kernel.cached = cached.status();
      if (cached.ok() && *cached) {
        kernel.object = **std::move(cached);
        kernel.fromCache = true;
        continue;
      }
      if (!compiler)
        compiler = std::make_unique<JitCompiler>(options.target);
      absl::StatusOr<std::string> object = compiler->compile(kernel.source->text, entryNameOf(kernel.key));
      kernel.status = object.status();
      if (object.ok())
        kernel.object = *std::move(object);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < options.threads && i < static_cast<int>(pending.size()); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
}

/// Writes a compiled kernel to the cache. It replaces a file that is not used.
void Jit::keep(const Pending &compiled) {
  if (compiled.fromCache) {
    ++counts.readFromCache;
    return;
  }
  ++counts.compiled;
  warn(compiled.cached);
  warn(cache.write(compiled.key, compiled.object));
}

/// Says once why kernels are compiled again. This only costs time, so it is no
/// error.
void Jit::warn(const absl::Status &status) {
  if (status.ok() || warned)
    return;
  warned = true;
  if (options.warns)
    llvm::errs() << "warning: compiled kernels are not taken from the cache, or not kept for the next run: "
                 << std::string(status.message()) << "; --kernel-cache names another directory, or none\n";
}

llvm::Error Jit::open() {
  llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> created = llvm::orc::LLJITBuilder().create();
  if (!created)
    return created.takeError();
  session = std::move(*created);
  session->getExecutionSession().setErrorReporter(
      [this](llvm::Error error) { absl::StrAppend(&linkErrors, "; ", llvm::toString(std::move(error))); });
  return session->getMainJITDylib().define(llvm::orc::absoluteSymbols(
      {{session->mangleAndIntern("__truncsfbf2"),
        {llvm::orc::ExecutorAddr::fromPtr(&roundToBFloat16), llvm::JITSymbolFlags::Exported}}}));
}

absl::StatusOr<Jit::Entry> Jit::link(const Pending &compiled) {
  if (!session)
    if (llvm::Error error = open())
      return absl::InternalError(absl::StrCat("cannot load code: ", llvm::toString(std::move(error))));
  linkErrors.clear();
  auto tracker = session->getMainJITDylib().createResourceTracker();
  auto object = llvm::MemoryBuffer::getMemBufferCopy(compiled.object, compiled.source->name);
  llvm::Error error = session->addObjectFile(tracker, std::move(object));
  if (!error) {
    auto symbol = session->lookup(entryNameOf(compiled.key));
    if (symbol)
      return symbol->toPtr<Entry>();
    error = symbol.takeError();
  }
  std::string message = llvm::toString(std::move(error)) + linkErrors;
  llvm::consumeError(tracker->remove());
  return absl::InvalidArgumentError(absl::StrCat("its code cannot be loaded: ", message));
}

} // namespace splitcast::runtime
