// Integers of several words: what add, sub and mad carry from one to the next.
#include "tests/cuda_on_cpu/ptx/PtxOps.h"

namespace splitcast::cuda_on_cpu {
namespace {

enum class Step { Add, Subtract, MultiplyLow, MultiplyHigh };

/// a + b, a - b, or a half of a b, plus c, in twice the width, with the carry or borrow that came in.
template <Step step, class T, class Wide> Wide compute(T a, T b, T c, T carried) {
  switch (step) {
  case Step::Add:
    return Wide{a} + b + carried;
  case Step::Subtract:
    return Wide{a} - b - carried;
  case Step::MultiplyLow:
    return Wide{static_cast<T>(Wide{a} * b)} + c + carried;
  case Step::MultiplyHigh:
    return Wide{static_cast<T>(Wide{a} * b >> sizeof(T) * 8)} + c + carried;
  }
  return 0;
}

template <Step step, bool takes, bool gives, class T> Next run(Warp &warp, const Inst &inst, uint32_t lanes) {
  using Wide = std::conditional_t<sizeof(T) == 4, uint64_t, unsigned __int128>;
  constexpr bool multiplies = step == Step::MultiplyLow || step == Step::MultiplyHigh;
  const T *a = warp.lanes<T>(inst.sources[0]), *b = warp.lanes<T>(inst.sources[1]);
  const T *c = multiplies ? warp.lanes<T>(inst.sources[2]) : a;
  T *d = warp.lanes<T>(inst.d);
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    const T carried = takes ? warp.carries >> lane & 1 : 0;
    const Wide result = compute<step, T, Wide>(a[lane], b[lane], c[lane], carried);
    d[lane] = static_cast<T>(result);
    const bool carries = (result >> sizeof(T) * 8 & 1) != 0;
    if (gives)
      warp.carries = (warp.carries & ~(1U << lane)) | static_cast<uint32_t>(carries) << lane;
  }
  return Next::Step;
}

template <Step step, class T> Handler handlerOf(bool takes, bool gives) {
  if (takes)
    return gives ? Handler(run<step, true, true, T>) : Handler(run<step, true, false, T>);
  return run<step, false, true, T>;
}

template <Step step> void lower(Builder &builder, Statement &statement, bool takes, bool gives) {
  const Type type = statement.takeType();
  // The upper half of a signed product is another.
  const bool isKnown = isInteger(type) && bytesOf(type) >= 4 && !(step == Step::MultiplyHigh && isSigned(type));
  const Handler handler =
      bytesOf(type) == 8 ? handlerOf<step, uint64_t>(takes, gives) : handlerOf<step, uint32_t>(takes, gives);
  lowerAlike(builder, statement, type, isKnown ? handler : nullptr,
             step == Step::MultiplyLow || step == Step::MultiplyHigh ? 3 : 2);
}

void lowerProduct(Builder &builder, Statement &statement) {
  const int half = statement.takeOneOf({"lo", "hi"});
  const bool gives = statement.take("cc");
  if (half < 0)
    return builder.fail("this product is not supported");
  return half == 0 ? lower<Step::MultiplyLow>(builder, statement, true, gives)
                   : lower<Step::MultiplyHigh>(builder, statement, true, gives);
}

} // namespace

bool lowerCarrying(Builder &builder, Statement &statement) {
  if (!statement.take("cc"))
    return false;
  if (statement.parts[0] == "add")
    lower<Step::Add>(builder, statement, false, true);
  else if (statement.parts[0] == "sub")
    lower<Step::Subtract>(builder, statement, false, true);
  else if (statement.parts[1] == "lo")
    lower<Step::MultiplyLow>(builder, statement, false, true);
  else
    lower<Step::MultiplyHigh>(builder, statement, false, true);
  return true;
}

Lowerings carryLowerings() {
  return {{"addc", [](Builder &builder, Statement &s) { lower<Step::Add>(builder, s, true, s.take("cc")); }},
          {"subc", [](Builder &builder, Statement &s) { lower<Step::Subtract>(builder, s, true, s.take("cc")); }},
          {"madc", lowerProduct}};
}

} // namespace splitcast::cuda_on_cpu
