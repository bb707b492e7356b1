#include "runtime/host/calls/OneDnnProduct.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <dnnl.h>

#include <string>

// libgomp's, which oneDNN uses; clang brings no <omp.h>.
extern "C" void omp_set_num_threads(int threads);

namespace splitcast::runtime {
namespace {

struct Destroy {
  void operator()(dnnl_primitive *primitive) const { dnnl_primitive_destroy(primitive); }
  void operator()(dnnl_primitive_desc *description) const { dnnl_primitive_desc_destroy(description); }
  void operator()(dnnl_memory *memory) const { dnnl_memory_destroy(memory); }
};
template <typename T> using Owned = std::unique_ptr<T, Destroy>;

/// The CPU, and a stream on it; made once. Null: oneDNN could not.
dnnl_engine_t engine() {
  static const dnnl_engine_t made = [] {
    dnnl_engine_t created = nullptr;
    return dnnl_engine_create(&created, dnnl_cpu, 0) == dnnl_success ? created : nullptr;
  }();
  return made;
}

dnnl_stream_t stream() {
  static const dnnl_stream_t made = [] {
    dnnl_stream_t created = nullptr;
    return dnnl_stream_create(&created, engine(), dnnl_stream_default_flags) == dnnl_success ? created : nullptr;
  }();
  return made;
}

absl::Status statusOf(const char *what, const char *step, dnnl_status_t status) {
  if (status == dnnl_success)
    return absl::OkStatus();
  const std::string text = absl::StrCat("library call '", what, "': oneDNN's ", step);
  if (status == dnnl_out_of_memory)
    return absl::ResourceExhaustedError(absl::StrCat(text, " found no memory for its copies of the operands"));
  if (status == dnnl_unimplemented) // for this CPU, or for what ONEDNN_MAX_CPU_ISA leaves of it
    return absl::UnimplementedError(absl::StrCat(text, " is not there"));
  return absl::InternalError(absl::StrCat(text, " failed with status ", status));
}

class Product final : public OneDnnProduct {
public:
  Product(const char *what, ElementType type, int threads)
      : what(what), step(type == ElementType::BF16 ? "product of bf16" : "product of f32"),
        type(type == ElementType::BF16 ? dnnl_bf16 : dnnl_f32), threads(threads) {}

  absl::Status build(const Gemm &gemm) {
    omp_set_num_threads(threads); // the algorithm is chosen for as many
    dnnl_memory_desc_t a, b, c;
    dnnl_status_t status = describe(a, gemm.m, gemm.k, gemm.lda, gemm.transposeA);
    if (status == dnnl_success)
      status = describe(b, gemm.k, gemm.n, gemm.ldb, gemm.transposeB);
    if (status == dnnl_success)
      status = describe(c, gemm.m, gemm.n, gemm.ldc, false);
    dnnl_matmul_desc_t product;
    if (status == dnnl_success)
      status = dnnl_matmul_desc_init(&product, &a, &b, nullptr, &c);
    dnnl_primitive_desc_t description = nullptr;
    if (status == dnnl_success)
      status = dnnl_primitive_desc_create(&description, &product, nullptr, engine(), nullptr);
    const Owned<dnnl_primitive_desc> owned(description);
    const char *name = nullptr;
    if (status == dnnl_success)
      status = dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &name);
    blocked = name && absl::StartsWith(name, "brg");
    dnnl_primitive_t made = nullptr;
    if (status == dnnl_success)
      status = dnnl_primitive_create(&made, description);
    primitive.reset(made);
    for (auto [memory, of] : {std::pair(&left, &a), {&right, &b}, {&result, &c}}) {
      dnnl_memory_t created = nullptr;
      if (status == dnnl_success)
        status = dnnl_memory_create(&created, of, engine(), DNNL_MEMORY_NONE);
      memory->reset(created);
    }
    return statusOf(what, step, status);
  }

  bool isBlocked() const override { return blocked; }

  absl::Status multiply(const void *a, const void *b, void *c) override {
    omp_set_num_threads(threads);
    dnnl_status_t status = dnnl_success;
    // oneDNN takes what it only reads as writable, too.
    for (auto [memory, data] : {std::pair(&left, const_cast<void *>(a)), {&right, const_cast<void *>(b)}, {&result, c}})
      if (status == dnnl_success)
        status = dnnl_memory_set_data_handle_v2(memory->get(), data, stream());
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, left.get()}, {DNNL_ARG_WEIGHTS, right.get()}, {DNNL_ARG_DST, result.get()}};
    if (status == dnnl_success)
      status = dnnl_primitive_execute(primitive.get(), stream(), 3, arguments);
    if (status == dnnl_success)
      status = dnnl_stream_wait(stream());
    return statusOf(what, step, status);
  }

private:
  dnnl_status_t describe(dnnl_memory_desc_t &matrix, int64_t rows, int64_t columns, int64_t stride,
                         bool isTransposed) const {
    const dnnl_dims_t extents = {rows, columns};
    const dnnl_dims_t strides = {isTransposed ? 1 : stride, isTransposed ? stride : 1};
    return dnnl_memory_desc_init_by_strides(&matrix, 2, extents, type, strides);
  }

  const char *what, *step;
  const dnnl_data_type_t type;
  const int threads;
  bool blocked = false;
  Owned<dnnl_primitive> primitive;
  Owned<dnnl_memory> left, right, result;
};

} // namespace

absl::StatusOr<std::unique_ptr<OneDnnProduct>> OneDnnProduct::create(const char *what, const Gemm &gemm,
                                                                     ElementType type, int threads) {
  if (!engine() || !stream())
    return absl::UnimplementedError(absl::StrCat("library call '", what, "': oneDNN has no engine here"));
  auto product = std::make_unique<Product>(what, type, threads);
  if (absl::Status status = product->build(gemm); !status.ok())
    return status;
  return product;
}

} // namespace splitcast::runtime
