//===- DescribedGpus.h - GPUs that cuDNN's heuristics are told about ---------------------------------------===//
#ifndef SPLITCAST_TESTS_GPU_DESCRIBEDGPUS_H
#define SPLITCAST_TESTS_GPU_DESCRIBEDGPUS_H

#include <string>

namespace splitcast::gpu_tests {

/// What the heuristics ask about a device, as an H200 or an A100 would answer.
inline std::string deviceOf(const std::string &name, int version, int multiprocessors, int sharedBytes) {
  return "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,"
         "\"multiProcessorCount\":" +
         std::to_string(multiprocessors) +
         ",\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":" +
         std::to_string(sharedBytes) +
         ",\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,"
         "\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,"
         "\"supportCoopLaunch\":1,\"totalGlobalMem\":85899345920,\"smClockRateKHz\":1980000,\"memClockRateKHz\":"
         "3201000,"
         "\"l2CacheSize\":62914560,\"cudaDeviceId\":0,\"deviceVer\":" +
         std::to_string(version) + ",\"driverVer\":13000,\"deviceName\":\"" + name + "\"}";
}

inline const std::string kHopper = deviceOf("NVIDIA H200", 900, 132, 232448),
                         kAmpere = deviceOf("NVIDIA A100-SXM4-80GB", 800, 108, 166912),
                         kTuring = deviceOf("Tesla T4", 750, 40, 65536);

} // namespace splitcast::gpu_tests

#endif // SPLITCAST_TESTS_GPU_DESCRIBEDGPUS_H
