#include "runtime/api/LaunchCheck.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/gpu/AttentionCall.h"
#include "runtime/gpu/ThreadKernel.h"

#include "mlir/AsmParser/AsmParser.h"

#include <map>
#include <optional>
#include <vector>

namespace splitcast::runtime {
namespace {

/// Makes @widen and @narrow, which convert [elements] from 16-bit floats to f32 and back.
class Conversions : ThreadKernel {
public:
  Conversions(ElementType small, int64_t elements, mlir::MLIRContext &context)
      : ThreadKernel(context), small(mlir::parseType(nameOf(small), &context)), elements(elements) {}

  void emit(mlir::ModuleOp module) {
    emit<mlir::arith::ExtFOp>(module, "widen", small, b.getF32Type());
    emit<mlir::arith::TruncFOp>(module, "narrow", b.getF32Type(), small);
  }

private:
  template <typename OpT> void emit(mlir::ModuleOp module, const char *name, mlir::Type from, mlir::Type to) {
    constexpr int64_t kWarps = 8, kThreads = kWarps * kWarpLanes;
    function(module, name, {mlir::MemRefType::get({elements}, from), mlir::MemRefType::get({elements}, to)},
             [&](mlir::ValueRange arguments) {
               launch((elements + kThreads - 1) / kThreads, kWarps, {}, [&](mlir::ValueRange) {
                 Value at = add(add(times(block, kThreads), times(warp, kWarpLanes)), lane);
                 emitIf(isBelow(at, number(elements)),
                        [&] { store(b.create<OpT>(loc, to, load(arguments[0], at)), arguments[1], at); });
               });
             });
  }

  const mlir::Type small;
  const int64_t elements;
};

/// An operand of a sample: where it is among the call's operands, and its copy in the workspace.
struct Copied {
  size_t operand;
  int64_t at, elements;
};

class SmallAttention final : public Launchable {
public:
  SmallAttention(const AttentionCall &call, const exec::SampleInFloats &layout)
      : call(call), layout(layout), argumentBytes(call.operandBytes) {
    const exec::AttentionExtents &e = call.extents;
    const int64_t query = e.positions * e.heads * e.width, key = e.keys * e.heads * e.width;
    if (e.isGradient)
      inputs.push_back({0, layout.gradient, query});
    const size_t first = inputs.size();
    inputs.insert(inputs.end(),
                  {{first, layout.query, query}, {first + 1, layout.key, key}, {first + 2, layout.value, key}});
    size_t next = inputs.size();
    if (e.hasMask)
      mask = next++;
    if (e.isGradient && e.hasStatistics)
      next += 2; // the gradient computes output and statistics again
    results.push_back({next++, layout.result, query});
    if (e.isGradient)
      results.insert(results.end(), {{next, layout.keyGrad, key}, {next + 1, layout.valueGrad, key}});
    else if (e.hasStatistics)
      statistics = next;
    argumentBytes.push_back(call.workspaceBytes);
  }

  absl::Status prepare(CallServices &services) {
    AttentionCall one = call;
    one.extents = layout.one;
    one.type = ElementType::F32;
    one.roundsToTf32 = true;
    one.workspaceBytes = layout.total - layout.workspace;
    one.operandBytes.clear();
    for (const Copied &of : inputs)
      one.operandBytes.push_back(of.elements * kFloat);
    if (mask)
      one.operandBytes.push_back(call.operandBytes[*mask] / call.extents.samples);
    for (const Copied &of : results)
      one.operandBytes.push_back(of.elements * kFloat);
    if (statistics)
      one.operandBytes.push_back(call.operandBytes[*statistics] / call.extents.samples);
    SPLITCAST_ASSIGN_OR_RETURN(inFloats, createAttention(one, services));
    for (const std::vector<Copied> *all : {&inputs, &results})
      for (const Copied &of : *all)
        if (!conversions.count(of.elements)) {
          SPLITCAST_ASSIGN_OR_RETURN(conversions[of.elements], make(call.type, of.elements, services));
        }
    return absl::OkStatus();
  }

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(call.what, argumentBytes, buffers));
    for (int64_t sample = 0; sample < call.extents.samples; ++sample)
      SPLITCAST_RETURN_IF_ERROR(launchSample(buffers, sample, stream));
    return absl::OkStatus();
  }

private:
  struct Conversion {
    std::shared_ptr<KernelLibrary> library;
    std::unique_ptr<Launchable> widen, narrow;
  };

  static absl::StatusOr<Conversion> make(ElementType small, int64_t elements, CallServices &services) {
    Conversion made;
    SPLITCAST_ASSIGN_OR_RETURN(made.library,
                               services.kernels(kernelText([&](mlir::MLIRContext &context, mlir::ModuleOp module) {
                                 Conversions(small, elements, context).emit(module);
                               })));
    SPLITCAST_ASSIGN_OR_RETURN(made.widen, made.library->kernel("widen"));
    SPLITCAST_ASSIGN_OR_RETURN(made.narrow, made.library->kernel("narrow"));
    return made;
  }

  /// Returns the sample's part of an operand.
  Buffer ofSample(absl::Span<const Buffer> buffers, size_t operand, int64_t sample) const {
    const int64_t bytes = argumentBytes[operand] / call.extents.samples;
    return buffers[operand].slice(sample * bytes, bytes);
  }

  absl::Status launchSample(absl::Span<const Buffer> buffers, int64_t sample, Stream &stream) {
    const Buffer workspace = buffers.back();
    const auto copyOf = [&](const Copied &of) { return workspace.slice(of.at, of.elements * kFloat); };
    std::vector<Buffer> floats;
    for (const Copied &input : inputs) {
      floats.push_back(copyOf(input));
      SPLITCAST_RETURN_IF_ERROR(conversions.at(input.elements)
                                    .widen->launch({ofSample(buffers, input.operand, sample), floats.back()}, stream));
    }
    if (mask)
      floats.push_back(ofSample(buffers, *mask, sample));
    for (const Copied &result : results)
      floats.push_back(copyOf(result));
    if (statistics)
      floats.push_back(ofSample(buffers, *statistics, sample));
    floats.push_back(workspace.slice(layout.workspace, layout.total - layout.workspace));
    SPLITCAST_RETURN_IF_ERROR(inFloats->launch(floats, stream));
    for (const Copied &result : results)
      SPLITCAST_RETURN_IF_ERROR(
          conversions.at(result.elements)
              .narrow->launch({copyOf(result), ofSample(buffers, result.operand, sample)}, stream));
    return absl::OkStatus();
  }

  static constexpr int64_t kFloat = 4;

  const AttentionCall call;
  const exec::SampleInFloats layout;
  std::vector<int64_t> argumentBytes;
  std::vector<Copied> inputs, results;
  std::optional<size_t> mask, statistics; ///< operands that are as they are
  std::unique_ptr<Launchable> inFloats;
  std::map<int64_t, Conversion> conversions; ///< by the number of elements
};

} // namespace

absl::StatusOr<std::unique_ptr<Launchable>> createSmallAttention(const AttentionCall &call, CallServices &services) {
  auto made = std::make_unique<SmallAttention>(call, *exec::sampleInFloats(call.extents));
  SPLITCAST_RETURN_IF_ERROR(made->prepare(services));
  return made;
}

} // namespace splitcast::runtime
