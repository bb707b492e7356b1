/// The headers that nearly every source of a dialect or a pass includes, to be precompiled: the dialects, MLIR's passes
/// and patterns, and containers. No source includes this file itself.
#ifndef SPLITCAST_THIRD_PARTY_PRECOMPILED_DIALECTS_H
#define SPLITCAST_THIRD_PARTY_PRECOMPILED_DIALECTS_H

#include "dialects/ccl/Ccl.h"
#include "dialects/exec/Exec.h"
#include "dialects/nn/Nn.h"
#include "dialects/sbp/Sbp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#endif // SPLITCAST_THIRD_PARTY_PRECOMPILED_DIALECTS_H
