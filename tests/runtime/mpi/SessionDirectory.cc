#include "tests/runtime/mpi/SessionDirectory.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace splitcast {

SessionDirectory::SessionDirectory() : path_("/tmp/mpi.XXXXXX") {
  if (!mkdtemp(path_.data()))
    path_ = "/tmp";
}

SessionDirectory::~SessionDirectory() {
  std::error_code ignored;
  if (path_ != "/tmp")
    std::filesystem::remove_all(path_, ignored);
}

} // namespace splitcast
