//===- OneDnn.h - oneDNN's objects, on one thread ------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_ONEDNN_H
#define SPLITCAST_RUNTIME_HOST_CALLS_ONEDNN_H

#include "absl/status/status.h"

#include <dnnl.h>

#include <memory>

namespace splitcast::runtime::onednn {

struct Destroy {
  void operator()(dnnl_primitive_attr *attributes) const { dnnl_primitive_attr_destroy(attributes); }
  void operator()(dnnl_primitive *primitive) const { dnnl_primitive_destroy(primitive); }
  void operator()(dnnl_primitive_desc *description) const { dnnl_primitive_desc_destroy(description); }
  void operator()(dnnl_memory *memory) const { dnnl_memory_destroy(memory); }
  void operator()(dnnl_stream *stream) const { dnnl_stream_destroy(stream); }
};
template <typename T> using Owned = std::unique_ptr<T, Destroy>;

/// Returns oneDNN's engine for the CPU, which is made once, or null if oneDNN could not make it.
dnnl_engine_t engine();

/// While it exists, oneDNN works for the calling thread on this thread alone, and chooses algorithms for one thread:
/// have one while a description is made and while a primitive runs. The number of threads is a setting of the calling
/// thread, which other libraries of the process read and set, too; the destructor puts back what it was.
class OneThread {
public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread &) = delete;
  OneThread &operator=(const OneThread &) = delete;

private:
  const int before;
};

/// Converts oneDNN's status. An error names `what`, the library call, and `step`, what oneDNN was doing.
absl::Status statusOf(const char *what, const char *step, dnnl_status_t status);

} // namespace splitcast::runtime::onednn

#endif // SPLITCAST_RUNTIME_HOST_CALLS_ONEDNN_H
