//===- NnInterfaces.td - The interfaces of the ops of a training graph ------===//
#ifndef SPLITCAST_DIALECTS_NN_NNINTERFACES_TD
#define SPLITCAST_DIALECTS_NN_NNINTERFACES_TD

include "mlir/IR/OpBase.td"

def ComputeOpInterface : OpInterface<"ComputeOpInterface"> {
  let description = [{
    Defines what an op computes, on tensors in one memory: on global tensors, whose signatures are ignored, or on a
    rank's pieces. The reference interprets this definition, and the compiler makes fused CPU kernels and GPU kernels of
    it.
  }];
  let cppNamespace = "::splitcast::nn";
  let methods = [
    InterfaceMethod<[{
      Infers the types of the results, without signature, from operands and attributes. Where the user gives the
      result's shape (a reshape), it is the type that the op has. Fails after an error on the op.
    }], "::mlir::LogicalResult", "inferResultTypes",
    (ins "::llvm::SmallVectorImpl<::mlir::RankedTensorType> &":$types)>,
    InterfaceMethod<[{
      Builds the results as linalg on `operands`, which have the op's operand types without signature. Only `nn::define`
      calls it, which casts bf16 and f16 to f32 before and back afterwards.
    }], "::llvm::SmallVector<::mlir::Value>", "lowerToLinalg",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<[{
      Returns the operands that hold indices, and for each the number of places that it may name: an index outside of
      [0, places) is an error of the step.
    }], "::llvm::SmallVector<::splitcast::nn::IndexOperand>", "getIndexOperands", (ins), /*methodBody=*/"",
    /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"Returns the number of floating-point operations of one execution.", "int64_t", "getFlops", (ins)>,
    InterfaceMethod<[{
      Returns the call of a vendor library that is faster than a generated kernel; none by default.
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
      Builds the gradients of the operands, given those of the results (null where no gradient flows back). Only those
      with `needed` are built; the others stay null. New values have no signature.
    }], "::llvm::SmallVector<::mlir::Value>", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients, "::llvm::ArrayRef<bool>":$needed)>,
  ];
}

def PlacedOpInterface : OpInterface<"PlacedOpInterface"> {
  let description = [{
    Ops whose elements depend on their place in the global tensor. So LoopSpec::anyShape is false for them. An op has
    one placed tensor, which is one of its operands or its first result. An op with several results may implement this
    interface only if the elements of all results depend on the place of that one tensor alone.
  }];
  let cppNamespace = "::splitcast::nn";
  let methods = [
    InterfaceMethod<[{
      Returns the tensor whose place matters, an operand or the first result; by default the first result.
    }], "::mlir::Value", "getPlaced", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return $_op->getResult(0);">,
    InterfaceMethod<[{
      Whether the op depends on where along the dimension a piece lies.
    }], "bool", "isPlacedAlong", (ins "int64_t":$dim), /*methodBody=*/"", /*defaultImplementation=*/"return true;">,
    InterfaceMethod<[{
      Whether the op can compute a part along such a dimension whose number is known only at run time (`setPart`).
    }], "bool", "canBePart", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return true;">,
    InterfaceMethod<[{
      Tells the op, whose types are those of a rank's pieces, that the piece begins at `offsets` in a tensor of
      `globalShape`.
    }], "void", "setPlace", (ins "::llvm::ArrayRef<int64_t>":$offsets, "::llvm::ArrayRef<int64_t>":$globalShape)>,
    InterfaceMethod<[{
      Makes the op, which has its place, compute part `number` of the tensor: parts of its own extent lie one after the
      other along dimension `dim`. The number, an i64, is that of a micro-batch and known only at run time.
    }], "void", "setPart", (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$number, "int64_t":$dim)>,
  ];
}

#endif // SPLITCAST_DIALECTS_NN_NNINTERFACES_TD
