//===- TempDir.h - A temporary directory for a test, and checks of errors ----===//
#ifndef SPLITCAST_TESTS_RUNTIME_IO_TEMPDIR_H
#define SPLITCAST_TESTS_RUNTIME_IO_TEMPDIR_H

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace splitcast::runtime {

/// A new directory. The destructor removes it with its contents.
class TempDir {
public:
  TempDir() {
    std::string pattern = testing::TempDir() + "/splitcast.XXXXXX";
    root = mkdtemp(pattern.data());
  }
  ~TempDir() { std::filesystem::remove_all(root); }

  std::string path(const std::string &name) const { return root + "/" + name; }

  /// Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string read(const std::string &name) const {
    std::ostringstream bytes;
    bytes << std::ifstream(path(name), std::ios::binary).rdbuf();
    return bytes.str();
  }
  /// Returns the name and the contents of every file.
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> files;
    for (const auto &entry : std::filesystem::directory_iterator(root)) {
      std::string name = entry.path().filename().string();
      files[name] = entry.is_regular_file() ? read(name) : "(no regular file)";
    }
    return files;
  }

private:
  std::string root;
};

/// Expects that `status` has `code`, and that its message contains all of `parts`.
inline void expectError(const absl::Status &status, absl::StatusCode code, const std::vector<std::string> &parts) {
  EXPECT_EQ(status.code(), code) << status;
  for (const std::string &part : parts)
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(part));
}

} // namespace splitcast::runtime

#endif // SPLITCAST_TESTS_RUNTIME_IO_TEMPDIR_H
