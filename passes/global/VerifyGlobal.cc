// Verifies the end of the global level.
#include "passes/global/JoinPlan.h"
#include "passes/global/Passes.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_VERIFYGLOBALPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

class GlobalVerifier {
public:
  explicit GlobalVerifier(ModuleOp module) : module(module) {}

  LogicalResult run() {
    if (failed(verifyModule(module)) || failed(verifyVariables(module)))
      return failure();
    SymbolTable symbols(module);
    findRanges();
    WalkResult walk = module.walk([&](Operation *op) {
      return WalkResult(success(succeeded(verifyTensors(op)) && succeeded(verifyUses(op, symbols)) &&
                                succeeded(verifySlots(op)) && succeeded(verifyLevel(op))));
    });
    return failure(walk.wasInterrupted() || failed(verifyCarried(module)) || failed(verifyRepeats(module)));
  }

private:
  LogicalResult verifyType(Operation *op, Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return success();
    sbp::NdAttr signature = sbp::signatureOf(type);
    if (!signature)
      return op->emitOpError() << "has a tensor of type " << type << " without a signature; run 'sbp-propagate'";
    return signature.verifyEncoding(tensor.getShape(), tensor.getElementType(), [&] { return op->emitOpError(); });
  }

  /// Verifies declared types, which no value need have: those of functions,
  /// whose arguments may be unused, and of variables.
  LogicalResult verifyDeclaredTypes(Operation *op) {
    if (auto variable = dyn_cast<sbp::VariableOp>(op))
      return verifyType(op, variable.getType());
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      return success();
    for (Type type : llvm::concat<const Type>(function.getArgumentTypes(), function.getResultTypes()))
      if (failed(verifyType(op, type)))
        return failure();
    return success();
  }

  LogicalResult verifyTensors(Operation *op) {
    if (failed(verifyDeclaredTypes(op)))
      return failure();
    for (Value value :
         llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector_of<Value>(op->getResults()))) {
      if (failed(verifyType(op, value.getType())))
        return failure();
    }
    return success();
  }

  LogicalResult verifyUses(Operation *op, SymbolTable &symbols) {
    auto check = [&](StringRef name, Value value) -> LogicalResult {
      auto variable = symbols.lookup<sbp::VariableOp>(name);
      if (variable && sbp::signatureOf(value) == variable.getStorageOrLogical())
        return success();
      return op->emitOpError() << "has signature " << sbp::toString(sbp::signatureOf(value).toAlgebra())
                               << ", which is not the storage of @" << name << "; run 'sbp-insert-boxing'";
    };
    if (auto read = dyn_cast<sbp::ReadOp>(op))
      return check(read.getVariable(), read.getResult());
    if (auto assign = dyn_cast<sbp::AssignOp>(op))
      return check(assign.getVariable(), assign.getValue());
    if (auto read = dyn_cast<sbp::BucketReadOp>(op))
      return verifyRange(read, read.getResult(), symbols);
    if (auto assign = dyn_cast<sbp::BucketAssignOp>(op))
      return verifyRange(assign, assign.getValue(), symbols);
    return success();
  }

  /// Finds the first variable of each stored range, by bucket and role.
  /// verifyVariables makes sure that the others lie as it does.
  void findRanges() {
    auto parameter = StringAttr::get(module.getContext(), sbp::kParameterRole);
    for (auto variable : module.getOps<sbp::VariableOp>())
      if (sbp::SlotAttr slot = variable.getSlotAttr()) {
        StringAttr role = variable.getStateOf() ? variable.getRoleAttr() : parameter;
        inRanges.try_emplace({slot.getBucket(), role}, variable);
      }
  }

  /// Verifies C2 of a range: it has the type in which it is stored.
  template <typename OpTy> LogicalResult verifyRange(OpTy op, Value range, SymbolTable &symbols) {
    auto bucket = symbols.lookup<sbp::BucketOp>(op.getBucket());
    auto role = StringAttr::get(op.getContext(), op.getRole());
    sbp::VariableOp variable = inRanges.lookup({op.getBucketAttr().getAttr(), role});
    if (!bucket || !variable)
      return op.emitOpError() << "has role " << role << ", but no variable of that role lies in bucket @"
                              << op.getBucket() << "; name the role of a state, or leave it out for the members";
    sbp::NdAttr stored = variable.getStorageOrLogical();
    if (!stored)
      return verifyType(variable, variable.getType());
    RankedTensorType type = bucket.getRangeType(variable.getTensorType().getElementType(), stored);
    if (type && type == range.getType())
      return success();
    InFlightDiagnostic error = op.emitOpError() << "has type " << range.getType() << ", but @" << variable.getSymName()
                                                << " of this range of @" << op.getBucket();
    if (!type)
      return error << " is stored as " << sbp::toString(stored.toAlgebra())
                   << ", which no range holds; read or assign the variable itself";
    return error << " is stored so that the range has type " << type << "; box to that, or run 'sbp-insert-boxing' and "
                 << "'sbp-join-buckets'";
  }

  /// Verifies C8: slots are only where a rank's program can express them.
  LogicalResult verifySlots(Operation *op) {
    if (isa<sbp::BucketMemberOp, sbp::BucketPackOp, sbp::AssignOp, sbp::ShardingOpInterface>(op))
      return success();
    for (Value value :
         llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector_of<Value>(op->getResults())))
      if (isSlot(value))
        return op->emitOpError() << "has a slot of bucket '" << sbp::signatureOf(value).getFlatSlot()->bucket
                                 << "', which only sbp.bucket_member may return and only sbp.bucket_pack, sbp.assign "
                                    "and ops that compute may take; run "
                                    "'sbp-join-buckets'";
    return success();
  }

  LogicalResult verifyLevel(Operation *op) {
    if (isa<nn::MinimizeOp, nn::UpdateOp>(op))
      return op->emitOpError() << "is left at the end of the global level; run 'nn-differentiate' and "
                                  "'nn-expand-optimizers' first";
    if (auto function = dyn_cast<func::FuncOp>(op))
      return verifyFunction(function);
    if (isa<func::ReturnOp>(op))
      for (Value value : op->getOperands())
        if (isa<RankedTensorType>(value.getType()) && sbp::signatureOf(value).hasPartial())
          return op->emitOpError() << "returns a value that is P; box it to B or S";
    return success();
  }

  LogicalResult verifyFunction(func::FuncOp function) {
    if (!function.getBody().hasOneBlock())
      return function.emitOpError() << "must have a body of one block";
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      if (sbp::signatureOf(type).hasPartial())
        return function.emitOpError() << "@" << function.getSymName() << " takes argument " << index
                                      << " as P, but an input is given whole and not as addends of ranks; take it as B "
                                         "or S";
    for (Type type : llvm::concat<const Type>(function.getArgumentTypes(), function.getResultTypes()))
      if (sbp::NdAttr signature = sbp::signatureOf(type); signature && signature.hasAt())
        return function.emitOpError() << "@" << function.getSymName() << " takes or returns " << type
                                      << ", of which some ranks have nothing; take or return it as B or S";
    return success();
  }

  ModuleOp module;
  DenseMap<std::pair<Attribute, Attribute>, sbp::VariableOp> inRanges;
};

struct VerifyGlobal : splitcast::impl::VerifyGlobalPassBase<VerifyGlobal> {
  void runOnOperation() override {
    if (failed(verifyGlobal(getOperation())))
      signalPassFailure();
  }
};

} // namespace

LogicalResult splitcast::verifyGlobal(ModuleOp module) { return GlobalVerifier(module).run(); }
