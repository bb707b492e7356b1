//===- SbpInterfaces.td - What ops of other dialects say of themselves -------===//
#ifndef SPLITCAST_DIALECTS_SBP_SBPINTERFACES_TD
#define SPLITCAST_DIALECTS_SBP_SBPINTERFACES_TD

include "mlir/IR/OpBase.td"

def ShardingOpInterface : OpInterface<"ShardingOpInterface"> {
  let description = [{
    An op states the loops that it runs over and in which operands it is linear; its legal signatures follow from that
    (dialects/sbp/algebra/Factors.h). The spec covers the operands that are tensors, in order, and all results.
    Implementing the interface adds a verifier. Once the signatures of all tensors of the op are decided,
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
    An op that a schedule may run in place of a func.func: the plan of a function.
  }];
  let cppNamespace = "::splitcast::sbp";
  let methods = [
    InterfaceMethod<"Types of the arguments.", "::llvm::SmallVector<::mlir::Type>", "getRunInputs", (ins)>,
    InterfaceMethod<"Types of the results.", "::llvm::SmallVector<::mlir::Type>", "getRunResults", (ins)>,
  ];
}

#endif // SPLITCAST_DIALECTS_SBP_SBPINTERFACES_TD
