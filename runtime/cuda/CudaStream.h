//===- CudaStream.h - CUDA's streams and events ----------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDASTREAM_H
#define SPLITCAST_RUNTIME_CUDA_CUDASTREAM_H

#include "runtime/cuda/CudaDevice.h"

#include <string>

namespace splitcast::runtime {

/// Owns the event.
class CudaEvent : public EventState {
public:
  explicit CudaEvent(cudaEvent_t event) : event(event) {}
  CudaEvent(const CudaEvent &) = delete;
  CudaEvent &operator=(const CudaEvent &) = delete;
  ~CudaEvent() override;
  absl::Status wait() override;
  cudaEvent_t get() const { return event; }

private:
  cudaEvent_t event;
};

/// Owns the stream.
class CudaStream : public Stream {
public:
  CudaStream(cudaStream_t stream, std::string name) : stream(stream), name(std::move(name)) {}
  CudaStream(const CudaStream &) = delete;
  CudaStream &operator=(const CudaStream &) = delete;
  ~CudaStream() override;
  absl::Status waitFor(const Event &event) override;
  absl::StatusOr<Event> record() override;
  absl::Status synchronize() override;
  cudaStream_t get() const { return stream; }

private:
  cudaStream_t stream;
  const std::string name;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDASTREAM_H
