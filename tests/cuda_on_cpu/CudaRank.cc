// Linked to a test, the one rank of its plans computes on CUDA's first device.
#include "runtime/cuda/CudaDevice.h"
#include "tests/differential/Ranks.h"

namespace splitcast::differential {
namespace {

struct Registration {
  Registration() {
    setDeviceMaker([] { return runtime::createCudaDevice({}); });
  }
} registration;

} // namespace
} // namespace splitcast::differential
