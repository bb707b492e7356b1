#include "runtime/host/calls/OneDnnProduct.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/host/calls/LibraryCall.h"
#include "runtime/host/calls/OneDnn.h"
#include "runtime/host/calls/Scratch.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <cstring>

namespace splitcast::runtime {
namespace {

using onednn::engine;
using onednn::OneThread;
using onednn::Owned;
using onednn::statusOf;

constexpr int64_t kLine = 64; ///< bytes per cache line

class Product final : public PreparedGemm {
public:
  Product(const char *what, const Gemm &gemm, ElementType type)
      : what(what), gemm(gemm), elementBytes(bytesOf(type)),
        step(type == ElementType::BF16 ? "product of bf16" : "product of f32"),
        type(type == ElementType::BF16 ? dnnl_bf16 : dnnl_f32) {}

  absl::Status build() {
    const OneThread alone;
    dnnl_memory_desc_t a, b, c;
    dnnl_status_t status = describe(a, gemm.m, gemm.k, gemm.lda, gemm.transposeA);
    if (status == dnnl_success)
      status = describe(b, gemm.k, gemm.n, gemm.ldb, gemm.transposeB);
    if (status == dnnl_success)
      status = describe(c, gemm.m, gemm.n, hasOwnResult() ? gemm.n : gemm.ldc, false);
    dnnl_matmul_desc_t product;
    if (status == dnnl_success)
      status = dnnl_matmul_desc_init(&product, &a, &b, nullptr, &c);
    dnnl_primitive_desc_t description = nullptr;
    dnnl_primitive_attr_t attributes = nullptr;
    if (status == dnnl_success)
      status = dnnl_primitive_attr_create(&attributes);
    const Owned<dnnl_primitive_attr> ownedAttributes(attributes);
    if (status == dnnl_success) // by default, each primitive keeps its own
      status = dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
    if (status == dnnl_success)
      status = dnnl_primitive_desc_create(&description, &product, attributes, engine(), nullptr);
    const Owned<dnnl_primitive_desc> owned(description);
    const char *name = nullptr;
    if (status == dnnl_success)
      status = dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, static_cast<void *>(&name));
    const dnnl_memory_desc_t *scratch =
        status == dnnl_success ? dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0) : nullptr;
    libraryBytes = scratch ? static_cast<int64_t>(dnnl_memory_desc_get_size(scratch)) : 0;
    // oneDNN's reference implementations are plain loops, which are meant for
    // comparison only.
    if (status == dnnl_success && (!name || absl::StartsWith(name, "ref")))
      status = dnnl_unimplemented;
    dnnl_primitive_t made = nullptr;
    if (status == dnnl_success)
      status = dnnl_primitive_create(&made, description);
    primitive.reset(made);
    using Description = const dnnl_memory_desc_t *;
    for (auto [memory, of] : {std::pair(&left, Description(&a)), {&right, &b}, {&result, &c}, {&scratchpad, scratch}}) {
      dnnl_memory_t created = nullptr;
      if (status == dnnl_success && of)
        status = dnnl_memory_create(&created, of, engine(), DNNL_MEMORY_NONE);
      memory->reset(created);
    }
    dnnl_stream_t opened = nullptr;
    if (status == dnnl_success)
      status = dnnl_stream_create(&opened, engine(), dnnl_stream_default_flags);
    stream.reset(opened);
    return statusOf(what, step, status);
  }

  absl::Status multiply(const void *a, const void *b, void *c) override {
    const OneThread alone;
    dnnl_status_t status = dnnl_success;
    const int64_t ownBytes = bytesOfOwnResult();
    std::byte *own = scratchOfThread(scratchBytes());
    // oneDNN takes pointers to mutable data even for what it only reads.
    for (auto [memory, data] : {std::pair(&left, const_cast<void *>(a)),
                                {&right, const_cast<void *>(b)},
                                {&result, ownBytes > 0 ? own : c},
                                {&scratchpad, own + ownBytes}})
      if (status == dnnl_success && *memory)
        status = dnnl_memory_set_data_handle_v2(memory->get(), data, stream.get());
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, left.get()},
                                         {DNNL_ARG_WEIGHTS, right.get()},
                                         {DNNL_ARG_DST, result.get()},
                                         {DNNL_ARG_SCRATCHPAD, scratchpad.get()}};
    if (status == dnnl_success)
      status = dnnl_primitive_execute(primitive.get(), stream.get(), scratchpad ? 4 : 3, arguments);
    if (status == dnnl_success)
      status = dnnl_stream_wait(stream.get());
    if (ownBytes > 0)
      for (int64_t row = 0; row < gemm.m; ++row)
        std::memcpy(static_cast<std::byte *>(c) + row * gemm.ldc * elementBytes, own + row * gemm.n * elementBytes,
                    gemm.n * elementBytes);
    return statusOf(what, step, status);
  }

  int64_t scratchBytes() const override { return bytesOfOwnResult() + libraryBytes; }

private:
  int64_t bytesOfOwnResult() const {
    return hasOwnResult() ? (gemm.m * gemm.n * elementBytes + kLine - 1) / kLine * kLine : 0;
  }

  /// If there are gaps between the rows of C, oneDNN chooses code that first
  /// copies B. With few rows, this takes longer than to multiply (20 x 704 x
  /// 2000 of f32, B transposed: 0.75 ms instead of 0.43). So the result is
  /// computed without gaps, and then copied.
  bool hasOwnResult() const {
    constexpr int64_t kFewRows = 128;
    return gemm.ldc != gemm.n && gemm.transposeB && gemm.m <= kFewRows;
  }

  dnnl_status_t describe(dnnl_memory_desc_t &matrix, int64_t rows, int64_t columns, int64_t stride,
                         bool isTransposed) const {
    const dnnl_dims_t extents = {rows, columns};
    const dnnl_dims_t strides = {isTransposed ? 1 : stride, isTransposed ? stride : 1};
    return dnnl_memory_desc_init_by_strides(&matrix, 2, extents, type, strides);
  }

  const char *what;
  const Gemm gemm;
  const int64_t elementBytes;
  const char *step;
  const dnnl_data_type_t type;
  int64_t libraryBytes = 0; ///< the size of the scratchpad that oneDNN asks for
  Owned<dnnl_stream> stream;
  Owned<dnnl_primitive> primitive;
  Owned<dnnl_memory> left, right, result, scratchpad;
};

} // namespace

void nameLibraryCodeForPerf() { dnnl_set_jit_profiling_flags(DNNL_JIT_PROFILE_LINUX_PERFMAP); }

absl::StatusOr<std::unique_ptr<PreparedGemm>> createOneDnnProduct(const char *what, const Gemm &gemm,
                                                                  ElementType type) {
  if (!engine())
    return absl::UnimplementedError(
        absl::StrCat("library call '", what, "': oneDNN could not create an engine for this CPU"));
  auto product = std::make_unique<Product>(what, gemm, type);
  SPLITCAST_RETURN_IF_ERROR(product->build());
  return product;
}

} // namespace splitcast::runtime
