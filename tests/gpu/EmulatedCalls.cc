#include "tests/gpu/EmulatedCalls.h"

#include "dialects/nn/Nn.h"
#include "runtime/gpu/DeviceCalls.h"
#include "runtime/gpu/GpuProgram.h"
#include "runtime/host/calls/Gemm.h"

#include "absl/strings/str_cat.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/APFloat.h"

#include <cstring>
#include <map>

namespace splitcast::gpu_tests {
namespace {

using runtime::Buffer;
using runtime::Launchable;
using runtime::Stream;

constexpr int64_t kSmallBytes = 2, kFloatBytes = 4;

class SmallFloatCall final : public Launchable {
public:
  /// `statistics` is the number of the operand that is of f32, if there is one.
  SmallFloatCall(runtime::Device &host, std::unique_ptr<Launchable> inner, size_t inputs, size_t outputs,
                 std::optional<size_t> statistics, mlir::FloatType type, int64_t givenWorkspace, int64_t hostWorkspace)
      : host(host), inner(std::move(inner)), inputs(inputs), outputs(outputs), statistics(statistics),
        semantics(type.getFloatSemantics()), givenWorkspace(givenWorkspace), hostWorkspace(hostWorkspace) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    if (absl::Status status = check(buffers); !status.ok())
      return status;
    if (givenWorkspace > 0) // what is there is nobody else's
      std::memset(buffers.back().data, 0xff, givenWorkspace);
    std::vector<Buffer> wide;
    absl::Status status;
    for (size_t i = 0; i < inputs + outputs + (hostWorkspace > 0) && status.ok(); ++i) {
      const int64_t bytes = i >= inputs + outputs ? hostWorkspace
                            : i == statistics     ? buffers[i].bytes
                                                  : buffers[i].bytes / kSmallBytes * kFloatBytes;
      absl::StatusOr<Buffer> buffer = host.allocate(std::max<int64_t>(bytes, 1));
      status = buffer.status();
      if (status.ok())
        wide.push_back(buffer->slice(0, bytes));
    }
    for (size_t i = 0; i < inputs && status.ok(); ++i)
      i == statistics ? copy(buffers[i], wide[i]) : extend(buffers[i], wide[i]);
    if (status.ok())
      status = inner->launch(wide, stream);
    for (size_t i = inputs; i < inputs + outputs && status.ok(); ++i)
      i == statistics ? copy(wide[i], buffers[i]) : round(wide[i], buffers[i]);
    for (Buffer buffer : wide)
      host.release(buffer);
    return status;
  }

private:
  absl::Status check(absl::Span<const Buffer> buffers) const {
    const size_t wanted = inputs + outputs + (givenWorkspace > 0);
    if (buffers.size() != wanted || (givenWorkspace > 0 && buffers.back().bytes != givenWorkspace))
      return absl::InvalidArgumentError(absl::StrCat("a call with a workspace of ", givenWorkspace, " bytes takes ",
                                                     wanted, " buffers, not ", buffers.size()));
    return absl::OkStatus();
  }

  static void copy(Buffer from, Buffer to) { std::memcpy(to.data, from.data, from.bytes); }
  void extend(Buffer from, Buffer to) const {
    for (int64_t i = 0; i < from.bytes / kSmallBytes; ++i) {
      uint16_t bits = 0;
      std::memcpy(&bits, from.data + i * kSmallBytes, kSmallBytes);
      llvm::APFloat value(semantics, llvm::APInt(16, bits));
      bool losesInformation = false;
      value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &losesInformation);
      const float wide = value.convertToFloat();
      std::memcpy(to.data + i * kFloatBytes, &wide, kFloatBytes);
    }
  }
  void round(Buffer from, Buffer to) const {
    for (int64_t i = 0; i < to.bytes / kSmallBytes; ++i) {
      float wide = 0;
      std::memcpy(&wide, from.data + i * kFloatBytes, kFloatBytes);
      llvm::APFloat value(wide);
      bool losesInformation = false;
      value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInformation);
      const auto bits = static_cast<uint16_t>(value.bitcastToAPInt().getZExtValue());
      std::memcpy(to.data + i * kSmallBytes, &bits, kSmallBytes);
    }
  }

  runtime::Device &host;
  const std::unique_ptr<Launchable> inner;
  const size_t inputs, outputs;
  const std::optional<size_t> statistics;
  const llvm::fltSemantics &semantics;
  const int64_t givenWorkspace, hostWorkspace;
};

/// The host's version of a call that has a workspace only on GPUs.
class WithoutWorkspace final : public Launchable {
public:
  WithoutWorkspace(std::unique_ptr<Launchable> inner, int64_t workspace)
      : inner(std::move(inner)), workspace(workspace) {}
  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    if (buffers.empty() || buffers.back().bytes != workspace)
      return absl::InvalidArgumentError(absl::StrCat("a call lacks its workspace of ", workspace, " bytes"));
    std::memset(buffers.back().data, 0xff, workspace); // what is there is nobody else's
    return inner->launch(buffers.first(buffers.size() - 1), stream);
  }

private:
  const std::unique_ptr<Launchable> inner;
  const int64_t workspace;
};

class HostProduct final : public runtime::ProductCall {
public:
  explicit HostProduct(const runtime::StridedProduct &p) : p(p) {
    gemm = {p.transposeA, p.transposeB, p.m, p.n, p.k, p.lda, p.ldb, p.ldc};
  }
  absl::Status launch(const std::byte *a, const std::byte *b, std::byte *c, Stream &) override {
    return p.type == runtime::ElementType::F64 ? multiply<double>(a, b, c) : multiply<float>(a, b, c);
  }

private:
  template <typename Float> absl::Status multiply(const std::byte *a, const std::byte *b, std::byte *c) const {
    absl::Status status;
    for (int64_t i = 0; i < p.count && status.ok(); ++i)
      status = gemm.multiply("product", reinterpret_cast<const Float *>(a) + i * p.strideA,
                             reinterpret_cast<const Float *>(b) + i * p.strideB,
                             reinterpret_cast<Float *>(c) + i * p.strideC);
    return status;
  }

  const runtime::StridedProduct p;
  runtime::Gemm gemm;
};

/// A library, with the context that it was parsed in.
class OwnedLibrary final : public runtime::KernelLibrary {
public:
  absl::Status load(const std::string &text, runtime::Device &device) {
    mlir::DialectRegistry registry;
    runtime::registerGpuKernelDialects(registry);
    context.appendDialectRegistry(registry);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return absl::InvalidArgumentError("a call's kernels do not parse:\n" + text);
    absl::StatusOr<std::unique_ptr<runtime::KernelLibrary>> loaded = device.loadKernels(*module);
    if (loaded.ok())
      library = *std::move(loaded);
    return loaded.status();
  }
  absl::StatusOr<std::unique_ptr<Launchable>> kernel(const std::string &name) override { return library->kernel(name); }

private:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::unique_ptr<runtime::KernelLibrary> library;
};

class EmulatedServices final : public runtime::CallServices {
public:
  explicit EmulatedServices(runtime::Device &device) : device(device) {}
  absl::StatusOr<std::unique_ptr<runtime::ProductCall>> product(const runtime::StridedProduct &product) override {
    return std::make_unique<HostProduct>(product);
  }
  absl::StatusOr<std::shared_ptr<runtime::KernelLibrary>> kernels(const std::string &module) override {
    auto library = std::make_shared<OwnedLibrary>();
    if (absl::Status status = library->load(module, device); !status.ok())
      return status;
    return library;
  }

private:
  runtime::Device &device;
};

} // namespace

absl::StatusOr<std::unique_ptr<Launchable>> emulateLibraryCall(runtime::Device &host, runtime::Device &device,
                                                               exec::LibraryCallAttrInterface call) {
  if (auto convolution = mlir::dyn_cast<exec::ConvolutionAttr>(call); convolution && convolution.getWorkspace()) {
    absl::StatusOr<std::unique_ptr<Launchable>> inner = host.libraryCall(convolution.withWorkspace(std::nullopt));
    if (!inner.ok())
      return inner.status();
    return std::make_unique<WithoutWorkspace>(*std::move(inner), *convolution.getWorkspace());
  }
  auto attention = mlir::dyn_cast<exec::AttentionAttr>(call);
  auto embedding = mlir::dyn_cast<exec::EmbeddingGradAttr>(call);
  const std::optional<int64_t> workspace = attention   ? attention.getWorkspace()
                                           : embedding ? embedding.getWorkspace()
                                                       : std::nullopt;
  auto type = mlir::dyn_cast<mlir::FloatType>(call.getType());
  const bool isSmall = type && type.getWidth() == 8 * kSmallBytes;
  const bool isOfLibrary = isSmall && attention && exec::isFlashAttention(attention.getExtents());
  if ((!isSmall || embedding || attention) && workspace && !isOfLibrary) { // as plans for GPUs give it
    EmulatedServices services(device);
    return runtime::createDeviceCall(call, services);
  }
  if (!isSmall || !workspace) // as plans for CPUs have it, or for both
    return host.libraryCall(call);
  if (!attention)
    return absl::UnimplementedError(
        absl::StrCat("a GPU has no call '", std::string(call.getCallName()), "' of small floats"));
  const exec::AttentionAttr onHost = attention.withType(mlir::Float32Type::get(call.getContext()));
  const bool isGradient = attention.getGradient(), hasStatistics = attention.getStatistics();
  const size_t inputs = isGradient ? (hasStatistics ? 6 : 4) : 3, outputs = isGradient ? 3 : (hasStatistics ? 2 : 1);
  const std::optional<size_t> statistics = hasStatistics ? std::optional<size_t>(isGradient ? 5 : 4) : std::nullopt;
  absl::StatusOr<std::unique_ptr<Launchable>> inner = host.libraryCall(onHost);
  if (!inner.ok())
    return inner.status();
  return std::make_unique<SmallFloatCall>(host, *std::move(inner), inputs, outputs, statistics, type, *workspace,
                                          exec::hostAttentionWorkspace(onHost.getExtents()).value_or(0));
}

} // namespace splitcast::gpu_tests
