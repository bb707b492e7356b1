#include "tests/gpu/ThreadFunctions.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/host/HostDevice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace splitcast::gpu_tests {
namespace {

class Converter {
public:
  Converter(ModuleOp target, gpu::GPUFuncOp source, ThreadFunction &description)
      : target(target), source(source), description(description), builder(target.getContext()) {}

  void run() {
    SmallVector<Type> types;
    for (Type type : source.getArgumentTypes())
      types.push_back(isa<MemRefType>(type) ? type : MemRefType::get({1}, type));
    for (BlockArgument shared : source.getWorkgroupAttributions()) {
      auto type = cast<MemRefType>(shared.getType());
      types.push_back(MemRefType::get(type.getShape(), type.getElementType()));
      description.sharedBytes.push_back(type.getNumElements() * type.getElementTypeBitWidth() / 8);
    }
    types.push_back(MemRefType::get({kCoordinates}, builder.getI64Type()));
    builder.setInsertionPointToEnd(target.getBody());
    auto function = builder.create<func::FuncOp>(source.getLoc(), source.getName(), builder.getFunctionType(types, {}));
    IRMapping map;
    source.getBody().cloneInto(&function.getBody(), map);
    Block &entry = function.getBody().front();
    for (auto [index, type] : llvm::enumerate(ArrayRef<Type>(types).drop_back()))
      setType(entry.getArgument(index), type);
    coordinates = entry.addArgument(types.back(), source.getLoc());
    shared = description.sharedBytes.empty() ? Value() : entry.getArgument(source.getNumArguments());
    SmallVector<NVVM::MmaOp> products;
    function.walk([&](NVVM::MmaOp product) { products.push_back(product); });
    for (NVVM::MmaOp product : products)
      convertProduct(product);
    function.walk([&](Operation *op) { convert(op); });
  }

private:
  /// A scalar lies in memory: the host's kernels take nothing else.
  void setType(BlockArgument argument, Type type) {
    Type before = argument.getType();
    argument.setType(type);
    if (isa<MemRefType>(before))
      return;
    builder.setInsertionPointToStart(argument.getOwner());
    Value zero = builder.create<arith::ConstantIndexOp>(source.getLoc(), 0);
    Value scalar = builder.create<memref::LoadOp>(source.getLoc(), argument, zero);
    argument.replaceAllUsesExcept(scalar, scalar.getDefiningOp());
  }

  void convert(Operation *op) {
    builder.setInsertionPoint(op);
    if (auto id = dyn_cast<gpu::ThreadIdOp>(op))
      replaceByCoordinate(op, 3 + static_cast<int64_t>(id.getDimension()));
    else if (auto id = dyn_cast<gpu::BlockIdOp>(op))
      replaceByCoordinate(op, static_cast<int64_t>(id.getDimension()));
    else if (isa<gpu::GridDimOp, gpu::BlockDimOp>(op) && op->use_empty())
      op->erase();
    else if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op))
      convertShuffle(shuffle);
    else if (isa<gpu::BarrierOp>(op))
      convertBarrier(op);
    else if (isa<gpu::ReturnOp>(op)) {
      builder.create<func::ReturnOp>(op->getLoc());
      op->erase();
    }
  }

  void replaceByCoordinate(Operation *op, int64_t number) {
    Value place = builder.create<arith::ConstantIndexOp>(op->getLoc(), number);
    Value coordinate = builder.create<memref::LoadOp>(op->getLoc(), coordinates, place);
    op->getResult(0).replaceAllUsesWith(
        builder.create<arith::IndexCastOp>(op->getLoc(), builder.getIndexType(), coordinate));
    op->erase();
  }

  void convertShuffle(gpu::ShuffleOp shuffle) {
    description.synchronizes = true;
    Type type = shuffle.getValue().getType();
    std::string name = "splitcast_emulate_shuffle_";
    llvm::raw_string_ostream(name) << type;
    declare(name, {type, builder.getI32Type()}, {type});
    auto call =
        builder.create<func::CallOp>(shuffle.getLoc(), name, type, ValueRange{shuffle.getValue(), shuffle.getOffset()});
    shuffle.getShuffleResult().replaceAllUsesWith(call.getResult(0));
    shuffle.erase();
  }

  void convertProduct(NVVM::MmaOp product) {
    builder.setInsertionPoint(product);
    description.synchronizes = true;
    constexpr char kMultiply[] = "splitcast_emulate_multiply", kProduct[] = "splitcast_emulate_product";
    const Type real = builder.getF32Type(), integer = builder.getI32Type();
    declare(kMultiply, product.getOperandTypes(), {});
    declare(kProduct, {integer}, {real});
    builder.create<func::CallOp>(product.getLoc(), kMultiply, TypeRange(), product.getOperands());
    for (Operation *user : llvm::make_early_inc_range(product->getUsers())) {
      auto extract = cast<LLVM::ExtractValueOp>(user);
      builder.setInsertionPointAfter(product);
      Value element = builder.create<arith::ConstantOp>(
          product.getLoc(), builder.getI32IntegerAttr(static_cast<int32_t>(extract.getPosition().front())));
      Value found = builder.create<func::CallOp>(product.getLoc(), kProduct, real, element).getResult(0);
      extract.replaceAllUsesWith(found);
      extract.erase();
    }
    product.erase();
  }

  void convertBarrier(Operation *op) {
    description.synchronizes = true;
    declare("splitcast_emulate_barrier", {builder.getI64Type()}, {});
    Value address = builder.create<memref::ExtractAlignedPointerAsIndexOp>(op->getLoc(), shared ? shared : coordinates);
    Value number = builder.create<arith::IndexCastOp>(op->getLoc(), builder.getI64Type(), address);
    builder.create<func::CallOp>(op->getLoc(), "splitcast_emulate_barrier", TypeRange(), number);
    op->erase();
  }

  void declare(StringRef name, TypeRange arguments, TypeRange results) {
    if (target.lookupSymbol(name))
      return;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(target.getBody());
    builder.create<func::FuncOp>(target.getLoc(), name, builder.getFunctionType(arguments, results)).setPrivate();
  }

  ModuleOp target;
  gpu::GPUFuncOp source;
  ThreadFunction &description;
  OpBuilder builder;
  Value coordinates, shared;
};

} // namespace

OwningOpRef<ModuleOp> threadFunctions(runtime::GpuProgram &program,
                                      std::map<std::string, ThreadFunction> &descriptions) {
  program.module->getContext()->loadDialect<arith::ArithDialect, func::FuncDialect, memref::MemRefDialect>();
  OwningOpRef<ModuleOp> target = ModuleOp::create(program.module->getLoc());
  for (auto function : program.functions().getOps<gpu::GPUFuncOp>())
    Converter(*target, function, descriptions[function.getName().str()]).run();
  return target;
}

absl::Status runThreads(runtime::GpuProgram &program, const std::string &name, int64_t threads, int64_t threadsPerBlock,
                        std::vector<runtime::Buffer> buffers) {
  std::map<std::string, ThreadFunction> descriptions;
  mlir::OwningOpRef<mlir::ModuleOp> functions = threadFunctions(program, descriptions);
  const std::unique_ptr<runtime::Device> device = runtime::createHostDevice({});
  SPLITCAST_ASSIGN_OR_RETURN(auto library, device->loadKernels(*functions));
  SPLITCAST_ASSIGN_OR_RETURN(auto stream, device->createStream("compute"));
  SPLITCAST_ASSIGN_OR_RETURN(auto kernel, library->kernel(name));
  int64_t coordinates[kCoordinates] = {};
  buffers.push_back({reinterpret_cast<std::byte *>(coordinates), sizeof(coordinates)});
  for (int64_t i = threads; i-- > 0;) {
    coordinates[0] = i / threadsPerBlock;
    coordinates[3] = i % threadsPerBlock;
    SPLITCAST_RETURN_IF_ERROR(kernel->launch(buffers, *stream));
  }
  return absl::OkStatus();
}

} // namespace splitcast::gpu_tests
