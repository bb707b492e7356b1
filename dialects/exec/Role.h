//===- Role.h - What the bytes of the arena are used for ----------------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_ROLE_H
#define SPLITCAST_DIALECTS_EXEC_ROLE_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace splitcast::exec {

enum class Role {
  Input,         ///< an argument
  Output,        ///< a result, or the tensor that a result is a part of
  Activation,    ///< any other value
  Gathered,      ///< the result of an all-gather
  Gradient,      ///< an operand that ranks sum, in place
  GradientShard, ///< a rank's block of such a sum
  Staging,       ///< memory in which a sum receives addends
  Workspace,     ///< the workspace of a library call, or a kernel
  Accumulator,   ///< carried from run to run of a schedule; but what a kept run gathers has the role Gathered
};

/// Returns "gradient_shard" and so on.
llvm::StringRef nameOf(Role role);
std::optional<Role> roleNamed(llvm::StringRef name);

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_ROLE_H
