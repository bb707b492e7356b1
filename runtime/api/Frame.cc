#include "runtime/api/Frame.h"

#include "llvm/Support/xxhash.h"

namespace splitcast::runtime {

uint64_t digestOf(absl::string_view text) { return llvm::xxh3_64bits(llvm::StringRef(text.data(), text.size())); }

} // namespace splitcast::runtime
