//===- LanguageServer.h - Modules in an editor ---------------------------------===//
//
// A server of the Language Server Protocol for files with our dialects. It reports the errors of modules, describes
// values and variables, and finds where they are defined and used. A file is what `splitcast-opt -split-input-file`
// reads: lines "// -----" divide it into independent modules.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LANGUAGE_SERVER_LANGUAGESERVER_H
#define SPLITCAST_COMPILER_LANGUAGE_SERVER_LANGUAGESERVER_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>

namespace splitcast {

/// Reads messages from `in` and writes answers to `out`, until the message "exit" or the end of `in`. An invalid
/// message is answered with an error. Returns the exit status that the protocol requires: 0 if "shutdown" came before
/// "exit", else 1.
int serveEditor(std::FILE *in, llvm::raw_ostream &out, const mlir::DialectRegistry &registry);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LANGUAGE_SERVER_LANGUAGESERVER_H
