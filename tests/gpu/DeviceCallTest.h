//===- DeviceCallTest.h - Library calls on the emulated device ----------------------------------------===//
#ifndef SPLITCAST_TESTS_GPU_DEVICECALLTEST_H
#define SPLITCAST_TESTS_GPU_DEVICECALLTEST_H

#include "dialects/exec/Exec.h"
#include "tests/gpu/EmulatedDevice.h"

#include "absl/strings/str_cat.h"
#include "mlir/AsmParser/AsmParser.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace splitcast::gpu_tests {

class DeviceCallTest : public testing::Test {
protected:
  DeviceCallTest() : device(createEmulatedDevice({})), stream(*device->createStream("compute")) {
    context.loadDialect<exec::ExecDialect>();
  }

  template <typename T> static runtime::Buffer bufferOf(std::vector<T> &values) {
    return {reinterpret_cast<std::byte *>(values.data()), static_cast<int64_t>(values.size() * sizeof(T))};
  }

  /// Launches the library call #exec.CALL.
  void launch(const std::string &call, const std::vector<runtime::Buffer> &buffers) {
    auto attribute = mlir::dyn_cast_or_null<exec::LibraryCallAttrInterface>(
        mlir::parseAttribute(absl::StrCat("#exec.", call), &context));
    ASSERT_TRUE(attribute) << call;
    auto launchable = device->libraryCall(attribute);
    ASSERT_TRUE(launchable.ok()) << launchable.status();
    ASSERT_EQ((*launchable)->launch(buffers, *stream), absl::OkStatus());
  }

private:
  mlir::MLIRContext context;
  const std::unique_ptr<runtime::Device> device;
  const std::unique_ptr<runtime::Stream> stream;
};

} // namespace splitcast::gpu_tests

#endif // SPLITCAST_TESTS_GPU_DEVICECALLTEST_H
