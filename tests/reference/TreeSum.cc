#include "tests/reference/TreeSum.h"

#include "tests/reference/Rounding.h"

namespace splitcast::reference {
namespace {

/// A sum of 2^height consecutive addends.
struct Partial {
  int height;
  Tensor sum;
};

/// left += right
void add(Tensor &left, const Tensor &right, Format format) {
  for (size_t i = 0; i < left.floats.size(); ++i)
    left.floats[i] = roundTo(format, left.floats[i] + right.floats[i]);
}

} // namespace

Tensor treeSum(llvm::ArrayRef<Tensor> addends, Precision precision) {
  const Format format = formatOf(addends.front().elementType, precision);
  const Format wide = format == Format::F64 ? Format::F64 : Format::F32;
  std::vector<Partial> counter;
  for (const Tensor &addend : addends) {
    counter.push_back({0, addend});
    while (counter.size() > 1 && counter[counter.size() - 2].height == counter.back().height) {
      Partial right = std::move(counter.back());
      counter.pop_back();
      add(counter.back().sum, right.sum, wide);
      ++counter.back().height;
    }
  }
  while (counter.size() > 1) {
    Partial right = std::move(counter.back());
    counter.pop_back();
    add(counter.back().sum, right.sum, wide);
  }
  for (double &sum : counter.front().sum.floats)
    sum = roundTo(format, sum);
  return std::move(counter.front().sum);
}

} // namespace splitcast::reference
