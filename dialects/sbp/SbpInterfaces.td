//===- SbpInterfaces.td - What ops of other dialects say of themselves -------===//
#ifndef SPLITCAST_DIALECTS_SBP_SBPINTERFACES_TD
#define SPLITCAST_DIALECTS_SBP_SBPINTERFACES_TD

include "mlir/IR/OpBase.td"

def ShardingOpInterface : OpInterface<"ShardingOpInterface"> {
  let description = [{
    An op states the loops it runs over and where it is linear; its legal signatures follow (dialects/sbp/algebra/Factors.h).
    The spec covers the operands that are tensors, in order, and all results. Implementing it also verifies: once the
    signatures of all tensors of the op are decided,
    - C1: they are on one placement, and each fits its tensor;
    - C2: along every axis they are one of the op's legal rows.
  }];
  let cppNamespace = "::splitcast::sbp";
  let methods = [
    InterfaceMethod<"Loop factors and linear sets, on the shapes of the op's types.", "::splitcast::sbp::LoopSpec",
                    "getLoopSpec", (ins)>,
  ];
  let verify = "return ::splitcast::sbp::verifySharding($_op);";
}

def RunnableOpInterface : OpInterface<"RunnableOpInterface"> {
  let description = [{
    What a schedule may run when functions are something else than func.func: their plans.
  }];
  let cppNamespace = "::splitcast::sbp";
  let methods = [
    InterfaceMethod<"Types of the arguments.", "::llvm::SmallVector<::mlir::Type>", "getRunInputs", (ins)>,
    InterfaceMethod<"Types of the results.", "::llvm::SmallVector<::mlir::Type>", "getRunResults", (ins)>,
  ];
}

#endif // SPLITCAST_DIALECTS_SBP_SBPINTERFACES_TD
