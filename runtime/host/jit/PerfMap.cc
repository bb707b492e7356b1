#include "runtime/host/jit/PerfMap.h"

#include "runtime/io/OwnDirectory.h"

#include "absl/strings/str_cat.h"
#include "llvm/Object/ELFObjectFile.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <unistd.h>
#include <vector>

namespace splitcast::runtime {
namespace {

struct Code {
  uint64_t address = 0, bytes = 0;
};

/// Returns where the functions of an object file lie in it; the one called
/// `entry` comes first.
std::vector<Code> functionsOf(const std::string &object, const std::string &entry) {
  std::vector<Code> found;
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object, entry));
  if (!file) {
    llvm::consumeError(file.takeError());
    return found;
  }
  for (const llvm::object::ELFSymbolRef symbol : llvm::cast<llvm::object::ELFObjectFileBase>(**file).symbols()) {
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    llvm::Expected<uint64_t> address = symbol.getAddress();
    const bool isKnown = static_cast<bool>(name) && static_cast<bool>(address);
    if (isKnown && symbol.getELFType() == llvm::ELF::STT_FUNC)
      found.insert(*name == entry ? found.begin() : found.end(), {*address, symbol.getSize()});
    llvm::consumeError(name.takeError());
    llvm::consumeError(address.takeError());
  }
  return found;
}

std::string path() { return absl::StrCat("/tmp/perf-", getpid(), ".map"); }

} // namespace

absl::Status PerfMap::prepareFile() {
  static const absl::Status prepared = [] {
    unlink(path().c_str());
    absl::StatusOr<int> file = openOwnFileForAppending(path());
    if (file.ok())
      close(*file);
    return file.status();
  }();
  return prepared;
}

// All functions of a kernel lie in one section, so their distances from the
// entry are those in the file.
void PerfMap::add(const std::string &name, const void *address, const std::string &object, const std::string &entry) {
  const std::vector<Code> functions = functionsOf(object, entry);
  for (const Code &function : functions)
    absl::StrAppend(&lines,
                    absl::Hex(reinterpret_cast<uintptr_t>(address) + function.address - functions.front().address), " ",
                    absl::Hex(function.bytes), " ", name, "\n");
}

PerfMap::~PerfMap() {
  if (lines.empty())
    return;
  absl::StatusOr<int> file = openOwnFileForAppending(path());
  const bool isWritten = file.ok() && write(*file, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
  if (!isWritten)
    llvm::errs() << "warning: cannot write the names of kernels: "
                 << (file.ok() ? std::strerror(errno) : std::string(file.status().message())) << "\n";
  if (file.ok())
    close(*file);
}

} // namespace splitcast::runtime
