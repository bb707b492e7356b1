//===- ExecCalls.td - Calls of vendor libraries in plans ---------------------===//
//
// Each call is an attribute with its sizes, types and flags. The `nn` op that needs the call makes the attribute, the
// device that the plan is for may change it (its workspace), and the code in `runtime/` that runs the call reads it.
// Wrong sizes are refused where the attribute is made or parsed.
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
    InterfaceMethod<"The name by which devices find the call.", "::llvm::StringRef", "getCallName">,
    InterfaceMethod<"The type of the elements that it computes with.", "::mlir::Type", "getType">,
    InterfaceMethod<"The bytes of each operand, inputs first, without the workspace.", "::std::vector<int64_t>",
                    "getOperandBytes">,
    InterfaceMethod<"The bytes of the workspace after these, 0 if there is none; nothing if the host's code for the "
                    "call computes them.",
                    "::std::optional<int64_t>", "getWorkspace">,
    InterfaceMethod<"The number of multiplications and additions of floats, each counted as one. It is a double, since "
                    "a product of sizes may exceed the range of an integer.",
                    "double", "getFlops">,
  ];
}

#endif // SPLITCAST_DIALECTS_EXEC_EXECCALLS_TD
