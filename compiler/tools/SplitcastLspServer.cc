// splitcast-lsp-server: what an editor shows of .mlir files with our dialects. The editor starts it, and talks to it
// over its input and output in the Language Server Protocol.
#include "compiler/Pipelines.h"
#include "compiler/language_server/LanguageServer.h"

#include "llvm/ADT/StringRef.h"

#include <csignal>
#include <cstdio>

int main(int argc, char **argv) {
  const bool isHelpWanted = argc == 2 && llvm::StringRef(argv[1]) == "--help";
  if (argc > 1) {
    fprintf(isHelpWanted ? stdout : stderr,
            "splitcast-lsp-server\nA language server for .mlir files, which an editor starts. It takes no flags.\n");
    return isHelpWanted ? 0 : 1;
  }
  // An editor may ignore it, which is inherited; the server waits for processes of its own.
  signal(SIGCHLD, SIG_DFL);
  mlir::DialectRegistry registry;
  splitcast::registerDialects(registry);
  return splitcast::serveEditor(stdin, llvm::outs(), registry);
}
