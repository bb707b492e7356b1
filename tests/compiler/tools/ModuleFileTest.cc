#include "compiler/tools/ModuleFile.h"
#include "tests/runtime/io/TempDir.h"

namespace splitcast {
namespace {

/// Whoever cuts a file off while a program reads it must not kill the program: a mapping would raise SIGBUS here.
TEST(ModuleFileTest, StaysWhenTheFileIsCutOff) {
  const runtime::TempDir dir;
  const std::string text = std::string(1'000'001, ' ') + "module {}\n", path = dir.write("m.mlir", text);
  const auto file = readModuleFile(path, /*allowBytecode=*/false);
  ASSERT_TRUE(file.ok()) << file.status();
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ((*file)->getBuffer(), text);
}

TEST(ModuleFileTest, NamesAFileThatIsMissing) {
  const runtime::TempDir dir;
  runtime::expectError(readModuleFile(dir.path("none"), /*allowBytecode=*/true).status(), absl::StatusCode::kNotFound,
                       {"cannot open input file '" + dir.path("none") + "': No such file"});
}

} // namespace
} // namespace splitcast
