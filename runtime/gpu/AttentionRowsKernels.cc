#include "runtime/gpu/AttentionRowsKernels.h"

#include "runtime/gpu/WarpKernel.h"

#include "absl/strings/str_cat.h"

#include <cstdio>
#include <limits>

namespace splitcast::runtime {
namespace {

std::string real(double value) {
  char text[64];
  snprintf(text, sizeof(text), "%.17e", value);
  return text;
}

} // namespace

std::string AttentionRowsKernels::module() const {
  const std::string element = nameOf(type), memref = absl::StrCat("memref<", rows, "x", keys, "x", element, ">");
  const bool hasMask = !maskType.empty();
  const std::string mask = absl::StrCat("memref<", keys, "x", maskType, ">");
  auto floats = [&](const char *name, double value) {
    return absl::StrCat("%", name, " = arith.constant ", real(value), " : ", element, "\n");
  };
  // Scores of what is not seen are as in the op's definition: the lowest, and weigh 0.
  const double lowest = std::numeric_limits<float>::lowest() / 4;
  const std::string keyCount = absl::StrCat("%keys = arith.constant ", keys, " : index\n");
  std::string body =
      keyCount + floats("scale", scale) + floats("lowest", lowest) + floats("zero", 0) + floats("unit", 1);
  absl::StrAppend(&body, "%positions = arith.constant ", positions, " : index\n%next = arith.constant 1 : index\n",
                  "%position = arith.remui %row, %positions : index\n%behind = arith.addi %position, %next : index\n");
  if (hasMask)
    absl::StrAppend(&body, "%off = arith.constant 0 : ", maskType, "\n");
  absl::StrAppend(&body, isCausal ? "%end = arith.minui %behind, %keys : index\n"
                                  : "%end = arith.maxui %keys, %next : index\n");
  // %y: the score, scaled; %isOn: whether the mask lets it be seen.
  std::string score =
      absl::StrCat("%x = memref.load %scores[%row, %key] : ", memref, "\n%y = arith.mulf %x, %scale : ", element, "\n");
  if (hasMask)
    absl::StrAppend(&score, "%entry = memref.load %mask[%key] : ", mask,
                    "\n%isOn = arith.cmpi ne, %entry, %off : ", maskType, "\n");
  auto seen = [&](const char *result, const char *value, const char *otherwise) {
    return hasMask
               ? absl::StrCat("%", result, " = arith.select %isOn, %", value, ", %", otherwise, " : ", element, "\n")
               : "";
  };
  const std::string loop = " = scf.for %key = %lane to %end step %lanes iter_args(";
  absl::StrAppend(&body, "%max_lane", loop, "%sofar = %lowest) -> (", element, ") {\n", score, seen("z", "y", "lowest"),
                  "%more = arith.maximumf %sofar, %", hasMask ? "z" : "y", " : ", element,
                  "\nscf.yield %more : ", element, "\n}\n", acrossLanes("max", "arith.maximumf", element));
  absl::StrAppend(&body, "%sum_lane", loop, "%sofar = %zero) -> (", element, ") {\n", score,
                  "%shifted = arith.subf %y, %max : ", element, "\n%exp = math.exp %shifted : ", element, "\n",
                  seen("weight", "exp", "zero"), "memref.store %", hasMask ? "weight" : "exp",
                  ", %scores[%row, %key] : ", memref, "\n%more = arith.addf %sofar, %", hasMask ? "weight" : "exp",
                  " : ", element, "\nscf.yield %more : ", element, "\n}\n", acrossLanes("sum", "arith.addf", element));
  absl::StrAppend(&body, "%isNone = arith.cmpf oeq, %sum, %zero : ", element,
                  "\n%divisor = arith.select %isNone, %unit, %sum : ", element,
                  "\nscf.for %key = %lane to %keys step %lanes {\n%isSeen = arith.cmpi ult, %key, %end : index\n",
                  "%weight = memref.load %scores[%row, %key] : ", memref,
                  "\n%quotient = arith.divf %weight, %divisor : ", element,
                  "\n%p = arith.select %isSeen, %quotient, %zero : ", element,
                  "\nmemref.store %p, %scores[%row, %key] : ", memref, "\n}\n");
  std::string gradient = absl::StrCat(
      keyCount, floats("scale", scale), floats("zero", 0),
      "%dot_lane = scf.for %key = %lane to %keys step %lanes iter_args(", "%sofar = %zero) -> (", element,
      ") {\n%p = memref.load %p_all[%row, %key] : ", memref, "\n%g = memref.load %g_all[%row, %key] : ", memref,
      "\n%product = arith.mulf %p, %g : ", element, "\n%more = arith.addf %sofar, %product : ", element,
      "\nscf.yield %more : ", element, "\n}\n", acrossLanes("dot", "arith.addf", element),
      "scf.for %key = %lane to %keys step %lanes {\n", "%p = memref.load %p_all[%row, %key] : ", memref,
      "\n%g = memref.load %g_all[%row, %key] : ", memref, "\n%centered = arith.subf %g, %dot : ", element,
      "\n%product = arith.mulf %p, %centered : ", element, "\n%ds = arith.mulf %product, %scale : ", element,
      "\nmemref.store %ds, %g_all[%row, %key] : ", memref, "\n}\n");
  const std::string scores = absl::StrCat("%scores: ", memref, hasMask ? absl::StrCat(", %mask: ", mask) : "");
  const std::string both = absl::StrCat("%p_all: ", memref, ", %g_all: ", memref);
  return warpKernel("softmax", scores, rows, body) + warpKernel("softmax_gradient", both, rows, gradient);
}

} // namespace splitcast::runtime
