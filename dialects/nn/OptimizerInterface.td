//===- OptimizerInterface.td - How an optimizer states its update ------------===//
#ifndef SPLITCAST_DIALECTS_NN_OPTIMIZERINTERFACE_TD
#define SPLITCAST_DIALECTS_NN_OPTIMIZERINTERFACE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def OptimizerAttrInterface : AttrInterface<"OptimizerAttrInterface"> {
  let description = "An optimizer: its update of one variable as elementwise ops over variable, gradient and state.";
  let cppNamespace = "::splitcast::nn";
  let methods = [
    InterfaceMethod<"The new value of the parameter; state is read and assigned through `update`.", "::mlir::Value",
                    "expand", (ins "::splitcast::nn::UpdateBuilder &":$update, "::mlir::Value":$parameter,
                               "::mlir::Value":$gradient)>,
    InterfaceMethod<"Initial learning rate.", "double", "getInitialLearningRate", (ins)>,
    InterfaceMethod<[{
      Whether the update depends on how many updates the variable has had: whether `expand` asks for shared powers.
    }], "bool", "countsSteps", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
  ];
}

#endif // SPLITCAST_DIALECTS_NN_OPTIMIZERINTERFACE_TD
