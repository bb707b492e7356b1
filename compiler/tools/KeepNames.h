//===- KeepNames.h - Keeps the names that a text gives to values ----------------------===//
#ifndef SPLITCAST_COMPILER_TOOLS_KEEPNAMES_H
#define SPLITCAST_COMPILER_TOOLS_KEEPNAMES_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace splitcast {

/// Returns the module of `text` with its locations, and in these the names of values (dialects/sbp/ValueNames.h), which
/// a parser otherwise drops: `%logits`, but not `%0`. Returns null, after printing the errors to stderr, if the text
/// does not parse.
std::unique_ptr<llvm::MemoryBuffer> withNamesKept(std::unique_ptr<llvm::MemoryBuffer> text,
                                                  const mlir::DialectRegistry &registry);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_TOOLS_KEEPNAMES_H
