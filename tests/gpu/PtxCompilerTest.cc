// What LLVM 19 must be told, or kept from, so that its PTX is right.
#include "runtime/gpu/PtxCompiler.h"
#include "runtime/gpu/GpuProgram.h"
#include "tests/runtime/io/TempDir.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace splitcast::gpu_tests {
namespace {

std::string ptxOf(const char *text) {
  mlir::DialectRegistry registry;
  runtime::registerGpuKernelDialects(registry);
  mlir::MLIRContext context(registry);
  const auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return "";
  auto program = runtime::cutIntoLaunches(*module);
  EXPECT_TRUE(program.ok()) << program.status();
  const auto ptx = runtime::compileToPtx(*program, {});
  EXPECT_TRUE(ptx.ok()) << ptx.status();
  return ptx.value_or("");
}

/// A product of tiles whose result only some threads use is still made by all: it stands before their branch. (The
/// barrier keeps it a branch.)
TEST(PtxCompilerTest, ProductsOfTilesStayOutOfBranches) {
  const std::string ptx = ptxOf(R"(
    func.func @product(%x: memref<32xi32>, %to: memref<32xf32>) {
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                 threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
        %c7 = arith.constant 7 : index
        %zero = arith.constant 0.0 : f32
        %a = memref.load %x[%tx] : memref<32xi32>
        %p = nvvm.mma.sync A[%a, %a, %a, %a] B[%a, %a] C[%zero, %zero, %zero, %zero]
          {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<tf32>,
           multiplicandBPtxType = #nvvm.mma_type<tf32>, shape = #nvvm.shape<m = 16, n = 8, k = 8>}
          : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
        %isFirst = arith.cmpi ult, %tx, %c7 : index
        scf.if %isFirst {
          %e = llvm.extractvalue %p[0] : !llvm.struct<(f32, f32, f32, f32)>
          memref.store %e, %to[%tx] : memref<32xf32>
          gpu.barrier
        }
        gpu.terminator
      }
      return
    })");
  ASSERT_NE(ptx.find("mma.sync"), std::string::npos);
  ASSERT_NE(ptx.find("bra"), std::string::npos);
  EXPECT_LT(ptx.find("mma.sync"), ptx.find("bra"));
}

/// The conversion of a vector of 8 that is loaded whole crashed LLVM.
TEST(PtxCompilerTest, VectorsExtendToF64) {
  const std::string ptx = ptxOf(R"(
    func.func @extend(%x: memref<256xf32> {llvm.align = 16 : i64}, %to: memref<256xf64> {llvm.align = 16 : i64}) {
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                 threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
        %c8 = arith.constant 8 : index
        %at = arith.muli %tx, %c8 : index
        %v = vector.load %x[%at] : memref<256xf32>, vector<8xf32>
        %w = arith.extf %v : vector<8xf32> to vector<8xf64>
        vector.store %w, %to[%at] : memref<256xf64>, vector<8xf64>
        gpu.terminator
      }
      return
    })");
  EXPECT_NE(ptx.find("ld.global.nc.v4.f32"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find("cvt.f64.f32"), std::string::npos) << ptx;
}

/// Sines are libdevice's. This one is text, which LLVM reads as it reads bitcode.
constexpr char kLibdevice[] = "define double @__nv_sin(double %x) {\n  ret double %x\n}\n";

absl::StatusOr<std::string> ptxOfSine(const std::string &libdevice) {
  mlir::DialectRegistry registry;
  runtime::registerGpuKernelDialects(registry);
  mlir::MLIRContext context(registry);
  const auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @sine(%x: memref<32xf64>, %to: memref<32xf64>) {
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                 threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
        %v = memref.load %x[%tx] : memref<32xf64>
        %s = math.sin %v : f64
        memref.store %s, %to[%tx] : memref<32xf64>
        gpu.terminator
      }
      return
    })",
                                                              &context);
  auto program = runtime::cutIntoLaunches(*module);
  return program.ok() ? runtime::compileToPtx(*program, {"sm_90", "+ptx80", libdevice}) : program.status();
}

/// What is linked into kernels is executed, so others must not be able to write it.
TEST(PtxCompilerTest, LinksLibdeviceThatNobodyElseMayWrite) {
  const runtime::TempDir dir;
  const std::string path = dir.write("libdevice.10.bc", kLibdevice), fifo = dir.path("fifo");
  const auto ptx = ptxOfSine(path);
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_NE(ptx->find("st.global.f64"), std::string::npos) << *ptx;
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const auto &[found, says] : {std::pair{path, "may be written by others (mode 666)"},
                                    {fifo, "is not a regular file"},
                                    {std::string(), "no CUDA toolkit was found"}})
    runtime::expectError(ptxOfSine(found).status(), absl::StatusCode::kFailedPrecondition, {says, "CUDA_HOME"});
  runtime::expectError(ptxOfSine(dir.path("none")).status(), absl::StatusCode::kUnavailable,
                       {"libdevice is not linked", dir.path("none"), "cannot be opened"});
  runtime::expectError(ptxOfSine(dir.write("bad", "no module")).status(), absl::StatusCode::kInvalidArgument,
                       {"cannot be read"});
}

TEST(PtxCompilerTest, RefusesOtherChips) {
  for (const auto &[chip, says] : {std::pair{"", "kernels cannot be compiled for ''"},
                                   {"SM_90", "kernels cannot be compiled for 'SM_90'; name a chip from sm_70 on"},
                                   {"sm_20", "kernels cannot be compiled for 'sm_20'"},
                                   {"sm_999", "LLVM knows no processor 'sm_999'"}}) {
    mlir::MLIRContext context;
    runtime::GpuProgram program;
    program.module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
    auto ptx = runtime::compileToPtx(program, {chip, "+ptx80", ""});
    EXPECT_NE(std::string(ptx.status().message()).find(says), std::string::npos) << ptx.status();
  }
}

} // namespace
} // namespace splitcast::gpu_tests
