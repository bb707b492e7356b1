//===- PtxOps.h - Shared by the files that implement instructions ----------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXOPS_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXOPS_H

#include "tests/cuda_on_cpu/ptx/PtxBuilder.h"
#include "tests/cuda_on_cpu/ptx/PtxFloat.h"
#include "tests/cuda_on_cpu/ptx/PtxWarp.h"

namespace splitcast::cuda_on_cpu {

/// The unsigned type in which arithmetic on values of T is done, so that it wraps.
template <class T> using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// Handlers of elementwise instructions: Op has a static function of(), which computes a lane's result.

template <class Op, class D, class A> Next unary(Warp &warp, const Inst &inst, uint32_t lanes) {
  const A *a = warp.lanes<A>(inst.sources[0]);
  D *d = warp.lanes<D>(inst.d);
  forLanes(lanes, [=](uint32_t lane) { d[lane] = Op::of(a[lane]); });
  return Next::Step;
}

template <class Op, class D, class A, class B> Next binary(Warp &warp, const Inst &inst, uint32_t lanes) {
  const A *a = warp.lanes<A>(inst.sources[0]);
  const B *b = warp.lanes<B>(inst.sources[1]);
  D *d = warp.lanes<D>(inst.d);
  forLanes(lanes, [=](uint32_t lane) { d[lane] = Op::of(a[lane], b[lane]); });
  return Next::Step;
}

template <class Op, class D, class A, class B, class C> Next ternary(Warp &warp, const Inst &inst, uint32_t lanes) {
  const A *a = warp.lanes<A>(inst.sources[0]);
  const B *b = warp.lanes<B>(inst.sources[1]);
  const C *c = warp.lanes<C>(inst.sources[2]);
  D *d = warp.lanes<D>(inst.d);
  forLanes(lanes, [=](uint32_t lane) { d[lane] = Op::of(a[lane], b[lane], c[lane]); });
  return Next::Step;
}

/// Returns make(a value of the C++ type) for a floating-point type, else null.
template <class F> Handler ofFloat(Type type, F make) {
  switch (type) {
  case Type::F16:
    return make(Half());
  case Type::BF16:
    return make(Bfloat());
  case Type::F32:
    return make(float());
  case Type::F64:
    return make(double());
  default:
    return nullptr;
  }
}
/// Returns make(a value of the C++ type) for a signed or unsigned integer type, else null.
template <class F> Handler ofInteger(Type type, F make) {
  switch (type) {
  case Type::U16:
    return make(uint16_t());
  case Type::U32:
    return make(uint32_t());
  case Type::U64:
    return make(uint64_t());
  case Type::S16:
    return make(int16_t());
  case Type::S32:
    return make(int32_t());
  case Type::S64:
    return make(int64_t());
  default:
    return nullptr;
  }
}
template <class F> Handler ofBits(Type type, F make) {
  switch (type) {
  case Type::Pred:
    return make(uint8_t());
  case Type::B16:
    return make(uint16_t());
  case Type::B32:
    return make(uint32_t());
  case Type::B64:
    return make(uint64_t());
  default:
    return nullptr;
  }
}

/// Lowers an instruction whose destination and sources all have type `type`. It is an error if `handler` is null, or if
/// a modifier is left.
void lowerAlike(Builder &builder, const Statement &statement, Type type, Handler handler, size_t sources);
/// Lowers add, sub and mad with the modifier "cc", if that is the next one; otherwise returns false.
bool lowerCarrying(Builder &builder, Statement &statement);
/// Lowers add, sub, mul, fma, min, max, neg and abs of floating-point types.
void lowerFloat(Builder &builder, Statement &statement);
inline bool isOfFloat(const Statement &statement) { return isFloat(typeNamed(statement.parts.back())); }

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXOPS_H
