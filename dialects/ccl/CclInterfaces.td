//===- CclInterfaces.td - What passes know about a collective ---------------------===//
#ifndef SPLITCAST_DIALECTS_CCL_CCLINTERFACES_TD
#define SPLITCAST_DIALECTS_CCL_CCLINTERFACES_TD

include "mlir/IR/OpBase.td"

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let description = [{
    A collective on local tensors. The op starts it, and its one result is pending. The kinds differ in elements,
    memory, traffic and workspace, and each is a row of the table in `dialects/ccl/algebra/Collective.h`, which the plan
    and the communicators read, too; `callOf` returns the numbers of an op.
  }];
  let cppNamespace = "::splitcast::ccl";
  let methods = [
    StaticInterfaceMethod<"The kind of the collective.", "::splitcast::ccl::CollectiveKind", "getKind">,
    InterfaceMethod<"This rank's operand.", "::mlir::TypedValue<::mlir::RankedTensorType>", "getInput">,
    InterfaceMethod<"The pending result.", "::mlir::TypedValue<::splitcast::ccl::PendingType>", "getPending">,
    InterfaceMethod<"The collective's name in messages and reports.", "::mlir::StringRef", "getWhat">,
    InterfaceMethod<"The ranks that take part.", "::splitcast::ccl::GroupAttr", "getGroup">,
    InterfaceMethod<"The number of elements of each rank's block, or one number for every rank.",
                    "::mlir::ArrayRef<int64_t>", "getBlocks">,
    InterfaceMethod<"The same for the elements from each rank, if they are the result.",
                    "::std::optional<::mlir::ArrayRef<int64_t>>", "getReceived">,
  ];
  let verify = "return ::splitcast::ccl::verifyCollective($_op);";
}

#endif // SPLITCAST_DIALECTS_CCL_CCLINTERFACES_TD
