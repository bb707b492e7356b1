//===- NnInterfaces.td - What an op of a training graph knows of itself ------===//
#ifndef SPLITCAST_DIALECTS_NN_NNINTERFACES_TD
#define SPLITCAST_DIALECTS_NN_NNINTERFACES_TD

include "mlir/IR/OpBase.td"

def ComputeOpInterface : OpInterface<"ComputeOpInterface"> {
  let description = [{
    What an op computes, on tensors that lie in one memory: global ones with the signature ignored, or a rank's piece. The one
    definition that the reference interprets, that is fused and compiled for the CPU, and that becomes a GPU kernel.
  }];
  let cppNamespace = "::splitcast::nn";
  let methods = [
    InterfaceMethod<[{
      The types of the results, without signature, from operands and attributes. Where the result's shape is the user's to
      say (a reshape), the type that the op has. Failure after an error on the op.
    }], "::mlir::LogicalResult", "inferResultTypes",
    (ins "::llvm::SmallVectorImpl<::mlir::RankedTensorType> &":$types)>,
    InterfaceMethod<[{
      The results as linalg on `operands`, which have the op's operand types without signature. To be called by `nn::define`,
      which brings bf16 and f16 to f32 before and back after.
    }], "::llvm::SmallVector<::mlir::Value>", "lowerToLinalg",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<[{
      Operands that hold indices, and how many places they may name: an index outside of [0, places) is an error of the step.
    }], "::llvm::SmallVector<::splitcast::nn::IndexOperand>", "getIndexOperands", (ins), /*methodBody=*/"",
    /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"Floating-point operations of one execution.", "int64_t", "getFlops", (ins)>,
    InterfaceMethod<[{
      The call of a vendor library that does it better than a generated kernel; none by default.
    }], "::std::optional<::splitcast::nn::LibraryCall>", "getLibraryCall", (ins), /*methodBody=*/"",
    /*defaultImplementation=*/"return std::nullopt;">,
  ];
  let verify = "return ::splitcast::nn::verifyCompute($_op);";
}

def GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let description = "Ops through which a loss can be differentiated.";
  let cppNamespace = "::splitcast::nn";
  let methods = [
    InterfaceMethod<[{
      The gradients of the operands, given those of the results (null where nothing flows back). Only those with `needed` are
      asked for; the others stay null. New values carry no signature.
    }], "::llvm::SmallVector<::mlir::Value>", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients, "::llvm::ArrayRef<bool>":$needed)>,
  ];
}

def PlacedOpInterface : OpInterface<"PlacedOpInterface"> {
  let description = [{
    Ops whose elements depend on where in the global tensor they lie. So they are not of any shape (LoopSpec::anyShape).
  }];
  let cppNamespace = "::splitcast::nn";
  let methods = [
    InterfaceMethod<[{
      The tensor whose place it is; by default the first result.
    }], "::mlir::Value", "getPlaced", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return $_op->getResult(0);">,
    InterfaceMethod<[{
      Whether it makes a difference where along the dimension a piece lies.
    }], "bool", "isPlacedAlong", (ins "int64_t":$dim), /*methodBody=*/"", /*defaultImplementation=*/"return true;">,
    InterfaceMethod<[{
      Whether it can compute a part along such a dimension whose number is known only when it runs, `setPart`.
    }], "bool", "canBePart", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return true;">,
    InterfaceMethod<[{
      Makes the op, whose types are a rank's piece, compute with the piece that begins at `offsets` of a tensor of `globalShape`.
    }], "void", "setPlace", (ins "::llvm::ArrayRef<int64_t>":$offsets, "::llvm::ArrayRef<int64_t>":$globalShape)>,
    InterfaceMethod<[{
      Makes the op, which has its place, compute the part `number` of the tensor: parts of its own extent lie one after the
      other along dimension `dim`. The number, an i64, is known when it runs: that of a micro-batch.
    }], "void", "setPart", (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$number, "int64_t":$dim)>,
  ];
}

#endif // SPLITCAST_DIALECTS_NN_NNINTERFACES_TD
