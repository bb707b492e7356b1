#include "compiler/tools/ModuleFile.h"

#include "compiler/graph/GraphDiagnostics.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

namespace splitcast {
namespace {

/// The bytes with which bytecode begins. They are not UTF-8, and so in no text.
constexpr llvm::StringLiteral kMagic("ML\xefR");

/// Refuses bytecode at any place: splitcast-opt --split-input-file reads each
/// part of a file as a file of its own.
absl::Status checkIsText(const std::string &path, llvm::StringRef contents) {
  const size_t at = contents.find(kMagic);
  if (at == llvm::StringRef::npos)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", path, "' ", at == 0 ? "is MLIR bytecode" : absl::StrCat("has MLIR bytecode at byte ", at),
      ", whose reader may crash or corrupt memory if the file is damaged or from a stranger; give the module as text, "
      "or, if you trust the file, add --",
      kAllowBytecode));
}

} // namespace

absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> readModuleFile(const std::string &path, bool allowBytecode) {
  // Volatile files are not mapped: of one that is cut off while it is parsed, a
  // mapping would be SIGBUS.
  auto file = path == "-" ? llvm::MemoryBuffer::getSTDIN()
                          : llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/true,
                                                        /*IsVolatile=*/true);
  if (!file)
    return absl::NotFoundError(absl::StrCat("cannot open input file '", path, "': ", file.getError().message()));
  if (!allowBytecode)
    if (absl::Status status = checkIsText(path, (*file)->getBuffer()); !status.ok())
      return status;
  return std::move(*file);
}

absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>>
parseModuleFile(const std::string &path, const mlir::ParserConfig &config, bool allowBytecode) {
  absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> file = readModuleFile(path, allowBytecode);
  if (!file.ok())
    return file.status();
  // Attributes of bytecode may go on using the file's memory, so they share it.
  auto source = std::make_shared<llvm::SourceMgr>();
  source->AddNewSourceBuffer(*std::move(file), llvm::SMLoc());
  DiagnosticCollector collector(config.getContext());
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(source, config);
  if (!module)
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' is not a valid module: ", absl::StrJoin(collector.locatedMessages(), "\n")));
  return module;
}

} // namespace splitcast
