#include "runtime/host/jit/PerfMap.h"

#include "absl/strings/str_cat.h"
#include "llvm/Object/ELFObjectFile.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
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

PerfMap::PerfMap() { [[maybe_unused]] static const int removed = unlink(path().c_str()); }

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
  std::ofstream file(path(), std::ios::app);
  file << lines;
  if (!file.flush())
    llvm::errs() << "warning: cannot write the names of kernels to '" << path() << "' (" << std::strerror(errno)
                 << ")\n";
}

} // namespace splitcast::runtime
