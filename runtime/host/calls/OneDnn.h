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

/// The CPU; made once. Null: oneDNN could not.
dnnl_engine_t engine();

/// What oneDNN is asked for next, on this thread, it does on this thread alone, and chooses the algorithm for that. To
/// be called before each description that is made and each primitive that is run.
void useOneThread();

/// `step` of library call `what`, for errors.
absl::Status statusOf(const char *what, const char *step, dnnl_status_t status);

} // namespace splitcast::runtime::onednn

#endif // SPLITCAST_RUNTIME_HOST_CALLS_ONEDNN_H
