//===- ExecCalls.td - What plans ask of vendor libraries ---------------------===//
//
// Each call is an attribute with its sizes, types and flags: made by the `nn` op that asks for it, changed by the device
// that the plan is for (its workspace), and read by what does it in `runtime/`. All that can be wrong with the sizes is
// refused where the attribute is made or parsed.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_EXECCALLS_TD
#define SPLITCAST_DIALECTS_EXEC_EXECCALLS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def LibraryCallAttrInterface : AttrInterface<"LibraryCallAttrInterface"> {
  let description = "A call of a vendor library.";
  let cppNamespace = "::splitcast::exec";
  let methods = [
    InterfaceMethod<"The name by which devices know it.", "::llvm::StringRef", "getCallName">,
    InterfaceMethod<"The type of the elements that it computes with.", "::mlir::Type", "getType">,
    InterfaceMethod<"Bytes of each operand, inputs first, without the workspace.", "::std::vector<int64_t>",
                    "getOperandBytes">,
    InterfaceMethod<"Bytes of the workspace behind these, 0: none; nothing: what does the call on the host knows.",
                    "::std::optional<int64_t>", "getWorkspace">,
    InterfaceMethod<"Multiplications and additions of floats, each counted as one, in f64: sizes may multiply to more than an integer has.",
                    "double", "getFlops">,
  ];
}

#endif // SPLITCAST_DIALECTS_EXEC_EXECCALLS_TD
