//===- Divisible.h - A loop of a kernel that may be divided ---------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_DIVISIBLE_H
#define SPLITCAST_DIALECTS_EXEC_DIVISIBLE_H

#include "llvm/ADT/StringRef.h"

namespace splitcast::exec {

/// A unit attribute of an scf.for on the top level of a kernel's function: no iteration reads or writes what another
/// one writes. So a device may divide the iterations into parts and run these in parallel, and no bit depends on how
/// many there are.
inline constexpr llvm::StringLiteral kDivisibleName = "splitcast.divisible";

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_DIVISIBLE_H
