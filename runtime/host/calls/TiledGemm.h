//===- TiledGemm.h - Products of bf16 and f16 in tiles of f32 --------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_TILEDGEMM_H
#define SPLITCAST_RUNTIME_HOST_CALLS_TILEDGEMM_H

#include "runtime/host/calls/PreparedGemm.h"

namespace splitcast::runtime {

/// Prepares a product that widens tiles of the operands and multiplies them in f32. It runs on every CPU.
std::unique_ptr<PreparedGemm> createTiledGemm(const char *what, const Gemm &gemm, ElementType type);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_TILEDGEMM_H
