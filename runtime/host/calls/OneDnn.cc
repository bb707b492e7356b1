#include "runtime/host/calls/OneDnn.h"

#include "absl/strings/str_cat.h"

#include <string>

// These are libgomp's functions, which oneDNN uses. clang has no <omp.h>.
extern "C" void omp_set_num_threads(int threads);
extern "C" int omp_get_max_threads();

namespace splitcast::runtime::onednn {

OneThread::OneThread() : before(omp_get_max_threads()) { omp_set_num_threads(1); }

OneThread::~OneThread() { omp_set_num_threads(before); }

dnnl_engine_t engine() {
  static const dnnl_engine_t made = [] {
    dnnl_engine_t created = nullptr;
    return dnnl_engine_create(&created, dnnl_cpu, 0) == dnnl_success ? created : nullptr;
  }();
  return made;
}

absl::Status statusOf(const char *what, const char *step, dnnl_status_t status) {
  if (status == dnnl_success)
    return absl::OkStatus();
  const std::string text = absl::StrCat("library call '", what, "': oneDNN's ", step);
  if (status == dnnl_out_of_memory)
    return absl::ResourceExhaustedError(absl::StrCat(text, " had no memory to copy the operands"));
  if (status == dnnl_unimplemented) // or with what ONEDNN_MAX_CPU_ISA allows of it
    return absl::UnimplementedError(absl::StrCat(text, " is not available on this CPU"));
  return absl::InternalError(absl::StrCat(text, " failed with status ", status));
}

} // namespace splitcast::runtime::onednn
