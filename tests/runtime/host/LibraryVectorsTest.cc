// The library calls that ops ask for, with the operands, sizes and workspace that the ops say, against NumPy.
#include "runtime/host/HostDevice.h"
#include "tests/differential/Bytes.h"
#include "tests/reference/tests/Fixture.h"
#include "tests/reference/tests/Vectors.h"

#include <cstring>
#include <map>

namespace splitcast::runtime {
namespace {

using reference::Tensor;

class LibraryVectorsTest : public reference::ReferenceTest {
protected:
  /// A buffer that ends at a page that nobody may touch.
  Buffer allocate(int64_t bytes) {
    absl::StatusOr<Buffer> buffer = device->allocate(bytes);
    EXPECT_TRUE(buffer.ok()) << buffer.status();
    std::memset(buffer->data, 0xAB, bytes); // nothing is zero, or written, by accident
    buffers.push_back(*buffer);
    return *buffer;
  }

  Buffer upload(const Tensor &tensor) {
    std::string bytes = differential::toBytes(tensor);
    Buffer buffer = allocate(bytes.size());
    std::memcpy(buffer.data, bytes.data(), bytes.size());
    return buffer;
  }

  /// Launches a call on the operands of a case, and judges the results.
  void check(const reference::VectorCase &testCase, const nn::LibraryCall &call) {
    absl::StatusOr<std::unique_ptr<Launchable>> prepared = device->libraryCall(call.call);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    std::vector<Buffer> arguments;
    for (const Tensor &operand : testCase.operands)
      arguments.push_back(upload(operand));
    for (const Tensor &result : testCase.results)
      arguments.push_back(allocate(bytesOf(result)));
    if (call.workspaceBytes)
      arguments.push_back(allocate(call.workspaceBytes));
    ASSERT_EQ((*prepared)->launch(arguments, *stream), absl::OkStatus());
    for (size_t i = 0; i < testCase.operands.size(); ++i)
      EXPECT_EQ(textOf(arguments[i]), differential::toBytes(testCase.operands[i])) << "operand " << i << " was changed";
    for (size_t i = 0; i < testCase.results.size(); ++i) {
      const Tensor &result = testCase.results[i];
      std::string bytes = textOf(arguments[testCase.operands.size() + i]);
      expectResult(testCase, i, differential::fromBytes(result.shape, result.elementType, bytes));
    }
  }

  static std::string textOf(Buffer buffer) {
    return {reinterpret_cast<const char *>(buffer.data), static_cast<size_t>(buffer.bytes)};
  }

  void releaseAll() {
    for (Buffer buffer : buffers)
      device->release(buffer);
    buffers.clear();
  }

  std::unique_ptr<Device> device = createHostDevice({/*threads=*/1, "", /*guardPages=*/true});
  std::unique_ptr<Stream> stream = *device->createStream("compute");
  std::vector<Buffer> buffers;
};

TEST_F(LibraryVectorsTest, CallsGiveWhatNumPyGives) {
  std::map<std::string, int64_t> counts;
  for (const reference::VectorCase &testCase : reference::readVectors(context)) {
    SCOPED_TRACE(testCase.text);
    auto module = testCase.module(context);
    ASSERT_TRUE(module);
    auto function = mlir::cast<mlir::func::FuncOp>(module->lookupSymbol("f"));
    auto op = mlir::cast<nn::ComputeOpInterface>(function.front().front());
    std::optional<nn::LibraryCall> call = op.getLibraryCall();
    if (!call)
      continue;
    ++counts[call->call.getCallName().str()];
    check(testCase, *call);
    releaseAll();
    if (HasFatalFailure())
      return;
  }
  for (const auto &[name, least] : std::map<std::string, int64_t>{{"attention", 50},
                                                                  {"attention_grad", 50},
                                                                  {"convolution", 16},
                                                                  {"convolution_data_grad", 16},
                                                                  {"convolution_weight_grad", 16},
                                                                  {"embedding_grad", 28},
                                                                  {"matmul", 50}})
    EXPECT_GE(counts[name], least) << name;
  EXPECT_EQ(counts.size(), 7u) << "a new call is to be listed here";
}

} // namespace
} // namespace splitcast::runtime
