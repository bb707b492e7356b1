#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/gpu/DeviceCalls.h"
#include "runtime/gpu/KernelCall.h"
#include "runtime/gpu/ThreadKernel.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
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
  SmallAttention(std::string what, exec::AttentionAttr call, const exec::SampleInFloats &layout)
      : what(std::move(what)), samples(call.getSamples()), layout(layout), argumentBytes(call.getOperandBytes()) {
    const int64_t query = call.getPositions() * call.getHeads() * call.getWidth(),
                  key = call.getKeys() * call.getHeads() * call.getWidth();
    if (call.getGradient())
      inputs.push_back({0, layout.gradient, query});
    const size_t first = inputs.size();
    inputs.insert(inputs.end(),
                  {{first, layout.query, query}, {first + 1, layout.key, key}, {first + 2, layout.value, key}});
    size_t next = inputs.size();
    if (call.getMaskType())
      mask = next++;
    if (call.getGradient() && call.getStatistics())
      next += 2; // the gradient computes output and statistics again
    results.push_back({next++, layout.result, query});
    if (call.getGradient())
      results.insert(results.end(), {{next, layout.keyGrad, key}, {next + 1, layout.valueGrad, key}});
    else if (call.getStatistics())
      statistics = next;
    argumentBytes.push_back(call.getWorkspace().value_or(0));
  }

  absl::Status prepare(exec::AttentionAttr call, CallServices &services) {
    auto f32 = mlir::Float32Type::get(call.getContext());
    auto one = exec::AttentionAttr::get(call.getContext(), call.getGradient(), 1, call.getPositions(), call.getKeys(),
                                        call.getHeads(), call.getWidth(), call.getScale(), call.getCausal(), f32,
                                        call.getMaskType(), layout.one.hasStatistics, layout.total - layout.workspace);
    SPLITCAST_ASSIGN_OR_RETURN(inFloats, createDeviceAttention(one, services, /*rounds=*/true));
    for (const std::vector<Copied> *all : {&inputs, &results})
      for (const Copied &of : *all)
        if (!conversions.count(of.elements)) {
          SPLITCAST_ASSIGN_OR_RETURN(conversions[of.elements],
                                     make(*elementTypeOf(call.getType()), of.elements, services));
        }
    return absl::OkStatus();
  }

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(what, argumentBytes, buffers));
    for (int64_t sample = 0; sample < samples; ++sample)
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
    const int64_t bytes = argumentBytes[operand] / samples;
    return buffers[operand].slice(sample * bytes, bytes);
  }

  absl::Status launchSample(absl::Span<const Buffer> buffers, int64_t sample, Stream &stream) {
    constexpr int64_t kFloat = 4;
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

  const std::string what;
  const int64_t samples;
  const exec::SampleInFloats layout;
  std::vector<int64_t> argumentBytes;
  std::vector<Copied> inputs, results;
  std::optional<size_t> mask, statistics; ///< operands that are as they are
  std::unique_ptr<Launchable> inFloats;
  std::map<int64_t, Conversion> conversions; ///< by the number of elements
};

} // namespace

absl::StatusOr<std::unique_ptr<Launchable>> createSmallAttention(exec::AttentionAttr call, CallServices &services) {
  const std::string what = absl::StrCat("library call '", std::string(call.getCallName()), "'");
  const std::optional<exec::SampleInFloats> layout = exec::sampleInFloats(call.getExtents());
  const int64_t workspace = call.getWorkspace().value_or(0);
  if (!layout || workspace < layout->total)
    return absl::InvalidArgumentError(absl::StrCat(what, " has a workspace of ", workspace, " bytes; it needs ",
                                                   layout ? absl::StrCat(layout->total) : "more than can be counted"));
  if (absl::c_linear_search(call.getOperandBytes(), 0))
    return absl::InvalidArgumentError(absl::StrCat(what, " has an empty operand; leave the call out of the plan"));
  auto made = std::make_unique<SmallAttention>(what, call, *layout);
  SPLITCAST_RETURN_IF_ERROR(made->prepare(call, services));
  return made;
}

} // namespace splitcast::runtime
