// splitcast-lsp-server: shows the meaning of .mlir files with our dialects in
// an editor. The editor starts it and talks to it over stdin and stdout in the
// Language Server Protocol.
#include "compiler/Pipelines.h"
#include "compiler/language_server/LanguageServer.h"

#include "llvm/ADT/StringRef.h"

#include <csignal>
#include <cstdio>

int main(int argc, char **argv) {
  const bool isHelpWanted = argc == 2 && llvm::StringRef(argv[1]) == "--help";
  if (argc > 1) {
    fprintf(isHelpWanted ? stdout : stderr,
            "splitcast-lsp-server\nA language server for .mlir files. An editor starts it; it takes no flags.\n");
    return isHelpWanted ? 0 : 1;
  }
  // The server waits for child processes, which fails if SIGCHLD is ignored; an
  // editor may ignore it, and its setting is inherited.
  signal(SIGCHLD, SIG_DFL);
  mlir::DialectRegistry registry;
  splitcast::registerDialects(registry);
  return splitcast::serveEditor(stdin, llvm::outs(), registry);
}
