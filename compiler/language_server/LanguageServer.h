//===- LanguageServer.h - Modules in an editor ---------------------------------===//
//
// The server of the Language Server Protocol for files with our dialects: what is wrong with a module, what its values
// and variables are, where they are defined and used. A file is what `splitcast-opt -split-input-file` reads: lines "//
// -----" divide it into modules that know nothing of each other.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LANGUAGE_SERVER_LANGUAGESERVER_H
#define SPLITCAST_COMPILER_LANGUAGE_SERVER_LANGUAGESERVER_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>

namespace splitcast {

/// Answers the messages from `in` on `out`, until "exit" or the end of `in`. A message that is wrong is answered with
/// an error, and the next one is read. Returns the exit status that the protocol asks for: 0 if "shutdown" came before
/// "exit", else 1.
int serveEditor(std::FILE *in, llvm::raw_ostream &out, const mlir::DialectRegistry &registry);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LANGUAGE_SERVER_LANGUAGESERVER_H
