#include "benchmarks/cpu/RawProduct.h"

#include "absl/strings/match.h"

#include <dnnl.h>

// Of libgomp, which oneDNN uses. It is declared here because clang has no
// <omp.h>.
extern "C" void omp_set_num_threads(int threads);

namespace splitcast {
namespace {

/// Objects of oneDNN. They are never destroyed.
struct Primitive {
  dnnl_primitive_t primitive = nullptr;
  dnnl_stream_t stream = nullptr;
  dnnl_memory_t a = nullptr, b = nullptr, c = nullptr;
};

absl::Status statusOf(dnnl_status_t status) {
  return status == dnnl_success ? absl::OkStatus() : absl::InternalError("oneDNN failed");
}

dnnl_memory_desc_t describe(int64_t products, int64_t rows, int64_t columns, bool isTransposed, dnnl_data_type_t type) {
  const dnnl_dims_t extents = {products, rows, columns};
  const dnnl_dims_t strides = {rows * columns, isTransposed ? 1 : columns, isTransposed ? rows : 1};
  dnnl_memory_desc_t result;
  dnnl_memory_desc_init_by_strides(&result, 3, extents, type, strides);
  return result;
}

} // namespace

absl::StatusOr<RawProduct> rawPrimitive(exec::MatmulAttr call, int threads) {
  if (!call.getType().isF32() && !call.getType().isBF16())
    return absl::UnimplementedError("not of this type");
  omp_set_num_threads(threads); // oneDNN chooses the algorithm for this number of threads
  const dnnl_data_type_t type = call.getType().isBF16() ? dnnl_bf16 : dnnl_f32;
  const int64_t products = call.getProducts(), m = call.getM(), n = call.getN(), k = call.getK();
  const dnnl_memory_desc_t a = describe(products, m, k, call.getTransposeA(), type),
                           b = describe(products, k, n, call.getTransposeB(), type),
                           c = describe(products, m, n, false, type);
  dnnl_engine_t engine = nullptr;
  dnnl_status_t status = dnnl_engine_create(&engine, dnnl_cpu, 0);
  dnnl_matmul_desc_t product;
  if (status == dnnl_success)
    status = dnnl_matmul_desc_init(&product, &a, &b, nullptr, &c);
  dnnl_primitive_desc_t description = nullptr;
  if (status != dnnl_success || dnnl_primitive_desc_create(&description, &product, nullptr, engine, nullptr))
    return absl::UnimplementedError("oneDNN has no such product");
  const char *name = nullptr;
  dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, static_cast<void *>(&name));
  if (!name || absl::StartsWith(name, "ref"))
    return absl::UnimplementedError("oneDNN has only its reference implementation for it");
  Primitive made;
  if (dnnl_primitive_create(&made.primitive, description) || dnnl_stream_create(&made.stream, engine, 0) ||
      dnnl_memory_create(&made.a, &a, engine, DNNL_MEMORY_NONE) ||
      dnnl_memory_create(&made.b, &b, engine, DNNL_MEMORY_NONE) ||
      dnnl_memory_create(&made.c, &c, engine, DNNL_MEMORY_NONE))
    return absl::InternalError("oneDNN failed");
  return RawProduct([made, threads](const void *a, const void *b, void *c) {
    omp_set_num_threads(threads);
    dnnl_memory_set_data_handle(made.a, const_cast<void *>(a));
    dnnl_memory_set_data_handle(made.b, const_cast<void *>(b));
    dnnl_memory_set_data_handle(made.c, c);
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, made.a}, {DNNL_ARG_WEIGHTS, made.b}, {DNNL_ARG_DST, made.c}};
    const dnnl_status_t status = dnnl_primitive_execute(made.primitive, made.stream, 3, arguments);
    return statusOf(status == dnnl_success ? dnnl_stream_wait(made.stream) : status);
  });
}

absl::StatusOr<RawProduct> rawSgemm(exec::MatmulAttr call, int threads) {
  if (!call.getType().isF32())
    return absl::UnimplementedError("not of this type");
  return RawProduct([call, threads](const void *a, const void *b, void *c) {
    omp_set_num_threads(threads);
    const int64_t m = call.getM(), n = call.getN(), k = call.getK();
    for (int64_t i = 0; i < call.getProducts(); ++i)
      if (dnnl_status_t status = dnnl_sgemm(call.getTransposeA() ? 'T' : 'N', call.getTransposeB() ? 'T' : 'N', m, n, k,
                                            1.0F, static_cast<const float *>(a) + i * m * k,
                                            call.getTransposeA() ? m : k, static_cast<const float *>(b) + i * k * n,
                                            call.getTransposeB() ? k : n, 0.0F, static_cast<float *>(c) + i * m * n, n);
          status != dnnl_success)
        return statusOf(status);
    return absl::OkStatus();
  });
}

} // namespace splitcast
