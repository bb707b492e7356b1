//===- PtxOps.h - What the files of instructions share ---------------------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXOPS_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXOPS_H

#include "tests/cuda_on_cpu/ptx/PtxBuilder.h"
#include "tests/cuda_on_cpu/ptx/PtxFloat.h"
#include "tests/cuda_on_cpu/ptx/PtxWarp.h"

namespace splitcast::cuda_on_cpu {

/// Arithmetic on values of T wraps in this type.
template <class T> using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// Op has a static function of() of the lane's values.

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

/// make(value of the type), or null: it is no float.
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
/// make(T()) for the C++ type of a type; null: it is none of these.
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

/// d, a, b, ... of `type` each; fails where there is no handler for the type, or a modifier is left.
void lowerAlike(Builder &builder, const Statement &statement, Type type, Handler handler, size_t sources);
/// add, sub and mad with the modifier "cc", which comes next; false: it does not.
bool lowerCarrying(Builder &builder, Statement &statement);
/// add, sub, mul, fma, min, max, neg and abs of floating-point types.
void lowerFloat(Builder &builder, Statement &statement);
inline bool isOfFloat(const Statement &statement) { return isFloat(typeNamed(statement.parts.back())); }

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXOPS_H
