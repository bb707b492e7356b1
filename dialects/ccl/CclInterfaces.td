//===- CclInterfaces.td - What passes know of a collective ---------------------===//
#ifndef SPLITCAST_DIALECTS_CCL_CCLINTERFACES_TD
#define SPLITCAST_DIALECTS_CCL_CCLINTERFACES_TD

include "mlir/IR/OpBase.td"

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let description = [{
    A collective on local tensors: it starts here, and its one result is what is pending. What sets one kind apart from another
    (elements, memory, traffic, workspace) is a row of the table in `dialects/ccl/algebra/Collective.h`, which the plan and the
    communicators read too; `callOf` gives an op's own numbers.
  }];
  let cppNamespace = "::splitcast::ccl";
  let methods = [
    StaticInterfaceMethod<"Which collective it is.", "::splitcast::ccl::CollectiveKind", "getKind">,
    InterfaceMethod<"This rank's operand.", "::mlir::TypedValue<::mlir::RankedTensorType>", "getInput">,
    InterfaceMethod<"What the result will be.", "::mlir::TypedValue<::splitcast::ccl::PendingType>", "getPending">,
    InterfaceMethod<"The collective's name in messages and reports.", "::mlir::StringRef", "getWhat">,
    InterfaceMethod<"The ranks that take part.", "::splitcast::ccl::GroupAttr", "getGroup">,
    InterfaceMethod<"The elements of each rank's block, or one number that is every rank's.", "::mlir::ArrayRef<int64_t>",
                    "getBlocks">,
    InterfaceMethod<"The elements that come from each rank, where these are the result; likewise.",
                    "::std::optional<::mlir::ArrayRef<int64_t>>", "getReceived">,
  ];
  let verify = "return ::splitcast::ccl::verifyCollective($_op);";
}

#endif // SPLITCAST_DIALECTS_CCL_CCLINTERFACES_TD
