//===- ModuleFile.h - Modules that users give as files ------------------------===//
//
// A file holds a module as text, or as MLIR's bytecode. MLIR 19's reader of bytecode trusts the file: one that is
// damaged or made to do harm can corrupt memory. So bytecode is refused unless the user asks for it by a flag. All
// programs that read modules read them here; that no other place calls MLIR's reader of files is checked by tests/lint.
//
// (An editor sends texts, which are never bytecode: compiler/language_server uses MLIR's reader of text.)
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_TOOLS_MODULEFILE_H
#define SPLITCAST_COMPILER_TOOLS_MODULEFILE_H

#include "absl/status/statusor.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace splitcast {

/// The flag that allows bytecode, without "--", and its line of help.
inline constexpr char kAllowBytecode[] = "allow-bytecode";
inline constexpr char kAllowBytecodeHelp[] =
    "also read MLIR's bytecode, from files that you trust: a damaged file may crash the program or do worse";

/// Reads a file, which is not mapped; "-" is stdin.
///   Errors  NotFound: it cannot be opened or read. InvalidArgument: it holds bytecode, or text with bytecode behind
///           it, which is not allowed. The messages name the file.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> readModuleFile(const std::string &path, bool allowBytecode);

/// Reads, parses and verifies a module.
///   Errors  those of readModuleFile. InvalidArgument: it is no valid module; the message has a line per error.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> parseModuleFile(const std::string &path,
                                                                  const mlir::ParserConfig &config, bool allowBytecode);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_TOOLS_MODULEFILE_H
