//===- KernelFixture.h - Runs kernels on vectors -----------------------------===//
#ifndef SPLITCAST_TESTS_RUNTIME_HOST_KERNELFIXTURE_H
#define SPLITCAST_TESTS_RUNTIME_HOST_KERNELFIXTURE_H

#include "dialects/exec/Exec.h"
#include "runtime/host/HostDevice.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <memory>
#include <string>
#include <vector>

namespace splitcast::runtime {

template <typename T> Buffer bufferOf(std::vector<T> &values) {
  return {reinterpret_cast<std::byte *>(values.data()), static_cast<int64_t>(values.size() * sizeof(T))};
}

class KernelFixture : public testing::Test {
protected:
  KernelFixture() {
    context.loadDialect<exec::ExecDialect, mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                        mlir::func::FuncDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                        mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
    context.allowUnregisteredDialects();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
    EXPECT_TRUE(module) << text;
    return module;
  }

  /// Parses #exec.NAME<PARAMETERS>. Returns null after an error, which is a diagnostic of the context.
  exec::LibraryCallAttrInterface parseCall(const std::string &name, const std::string &parameters) {
    return llvm::dyn_cast_or_null<exec::LibraryCallAttrInterface>(
        mlir::parseAttribute("#exec." + name + "<" + parameters + ">", &context));
  }

  absl::StatusOr<std::unique_ptr<Launchable>> loadKernel(const std::string &text, const std::string &name) {
    auto module = parse(text);
    auto library = device->loadKernels(*module);
    if (!library.ok())
      return library.status();
    return (*library)->kernel(name);
  }

  /// Loads the kernel @k of `text` and runs it.
  absl::Status run(const std::string &text, const std::vector<Buffer> &buffers) {
    auto kernel = loadKernel(text, "k");
    if (!kernel.ok())
      return kernel.status();
    return (*kernel)->launch(buffers, *stream);
  }

  mlir::MLIRContext context;
  std::unique_ptr<Device> device = createHostDevice({});
  std::unique_ptr<Stream> stream = *device->createStream("compute");
};

/// Returns a kernel @k that applies `body`, which computes %y from %x, to each of `count` elements.
inline std::string elementwise(int count, const std::string &from, const std::string &to, const std::string &body) {
  std::string n = std::to_string(count);
  return "func.func @k(%a: memref<" + n + "x" + from + ">, %b: memref<" + n + "x" + to +
         ">) {\n"
         "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n  %n = arith.constant " +
         n +
         " : index\n"
         "  scf.for %i = %c0 to %n step %c1 {\n"
         "    %x = memref.load %a[%i] : memref<" +
         n + "x" + from + ">\n    " + body + "\n    memref.store %y, %b[%i] : memref<" + n + "x" + to +
         ">\n  }\n  return\n}\n";
}

} // namespace splitcast::runtime

#endif // SPLITCAST_TESTS_RUNTIME_HOST_KERNELFIXTURE_H
