//===- Role.h - What bytes of the arena are for ----------------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_ROLE_H
#define SPLITCAST_DIALECTS_EXEC_ROLE_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace splitcast::exec {

enum class Role {
  Input,         ///< an argument
  Output,        ///< a result, or what it is a part of
  Activation,    ///< any other value
  Gathered,      ///< what an all-gather gives
  Gradient,      ///< what ranks sum, in place
  GradientShard, ///< a rank's block of such a sum
  Staging,       ///< where a sum receives
  Workspace,     ///< of a library call
  Accumulator,   ///< carried from run to run of a schedule; what a kept run gathers is Gathered
};

/// "gradient_shard"
llvm::StringRef nameOf(Role role);
std::optional<Role> roleNamed(llvm::StringRef name);

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_ROLE_H
