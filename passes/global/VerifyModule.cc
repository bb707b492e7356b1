// Verifies what all passes of the global level rely on, whether or not
// signatures are decided yet.
#include "dialects/nn/Nn.h"
#include "dialects/sbp/EntryNames.h"
#include "passes/global/Passes.h"

using namespace mlir;
using namespace splitcast;

namespace {

class ModuleVerifier {
public:
  explicit ModuleVerifier(ModuleOp module) : placement(sbp::placementOf(module)), module(module) {}

  LogicalResult run() {
    if (failed(sbp::verifyEntryNames(module)))
      return failure();
    WalkResult walk = module.walk([&](Operation *op) { return WalkResult(success(succeeded(verify(op)))); });
    return failure(walk.wasInterrupted());
  }

private:
  LogicalResult verify(Operation *op) {
    if (auto variable = dyn_cast<sbp::VariableOp>(op))
      return verifyTensor(op, variable.getType()); // its storage and update have the same placement
    if (auto function = dyn_cast<func::FuncOp>(op))
      return verifyFunction(function);
    if (isa<ModuleOp>(op) && op != module) // no pass would look into it
      return op->emitOpError() << "is within another module; move its contents into the outer one";
    for (Type type : op->getResultTypes())
      if (failed(verifyTensor(op, type)))
        return failure();
    return success();
  }

  LogicalResult verifyFunction(func::FuncOp function) {
    auto verifyTypes = [&](ArrayRef<Type> types, StringRef verb, StringRef what) -> LogicalResult {
      for (auto [index, type] : llvm::enumerate(types)) {
        if (!isa<RankedTensorType>(type))
          return function.emitOpError() << "@" << function.getSymName() << " " << verb << " " << type << " as " << what
                                        << " " << index << "; functions of the global level have ranked tensors only";
        if (failed(verifyTensor(function, type)))
          return failure();
      }
      return success();
    };
    if (failed(verifyTypes(function.getArgumentTypes(), "takes", "argument")) ||
        failed(verifyTypes(function.getResultTypes(), "returns", "result")))
      return failure();
    for (Block &block : function.getBody())
      for (BlockArgument argument : block.getArguments())
        if (failed(verifyTensor(function, argument.getType())))
          return failure();
    return success();
  }

  /// Verifies that a signature is on the placement of the module, since passes
  /// index it by the axes of that placement; that there is no other encoding,
  /// since passes drop it; and that ranks can store the elements.
  LogicalResult verifyTensor(Operation *op, Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (Attribute encoding = tensor ? tensor.getEncoding() : Attribute(); encoding && !isa<sbp::NdAttr>(encoding))
      return op->emitOpError() << "has a tensor of type " << type << ", whose encoding " << encoding
                               << " is no signature; write one as #sbp.nd, or leave it out";
    if (tensor && !nn::isStoredElement(tensor.getElementType()))
      return op->emitOpError() << "has a tensor of type " << type
                               << "; its elements must be f16, bf16, f32, f64, i1, i8, i32 or i64";
    sbp::NdAttr signature = sbp::signatureOf(type);
    if (!signature || signature.getPlacement() == placement)
      return success();
    if (!placement)
      return op->emitOpError()
             << "has a tensor on " << signature.getPlacement()
             << ", but neither a variable nor a function's type says where the module is; give it the "
                "attribute sbp.placement";
    return op->emitOpError()
           << "has a tensor on another placement than the module's: " << signature.getPlacement() << " and not "
           << placement
           << "; a module has one placement: what only some of its ranks have is At(K) along one of its axes";
  }

  sbp::PlacementAttr placement;
  ModuleOp module;
};

} // namespace

LogicalResult splitcast::verifyModule(ModuleOp module) { return ModuleVerifier(module).run(); }
