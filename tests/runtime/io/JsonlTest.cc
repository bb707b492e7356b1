#include "runtime/io/Jsonl.h"
#include "tests/runtime/io/TempDir.h"

#include <cmath>
#include <limits>

namespace splitcast::runtime {
namespace {

using absl::StatusCode;
using Json = nlohmann::ordered_json;

TEST(JsonlTest, EveryLineIsThereAtOnce) {
  TempDir dir;
  auto writer = JsonlWriter::open(dir.path("m"));
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(writer->write({{"step", 1}, {"loss", 2.5}, {"a", "x\ny"}}).ok());
  EXPECT_EQ(dir.read("m"), "{\"step\":1,\"loss\":2.5,\"a\":\"x\\ny\"}\n");
  ASSERT_TRUE(writer->write(Json::object()).ok());
  EXPECT_EQ(dir.read("m"), "{\"step\":1,\"loss\":2.5,\"a\":\"x\\ny\"}\n{}\n");
}

TEST(JsonlTest, NumbersComeBackAsTheyWere) {
  TempDir dir;
  auto writer = JsonlWriter::open(dir.path("m"));
  ASSERT_TRUE(writer.ok());
  for (double value : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0}) {
    ASSERT_TRUE(writer->write({{"v", value}}).ok());
    std::string all = dir.read("m"), line = all.substr(all.rfind('\n', all.size() - 2) + 1);
    double back = Json::parse(line)["v"].get<double>();
    EXPECT_EQ(back, value);
    EXPECT_EQ(std::signbit(back), std::signbit(value));
  }
}

TEST(JsonlTest, NonFiniteNumbersAreNamed) {
  TempDir dir;
  auto writer = JsonlWriter::open(dir.path("m"));
  ASSERT_TRUE(writer.ok());
  double infinity = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(writer->write({{"loss", std::nan("")}, {"norms", {infinity, -infinity, 1.0}}}).ok());
  EXPECT_EQ(dir.read("m"), "{\"loss\":\"NaN\",\"norms\":[\"Infinity\",\"-Infinity\",1.0]}\n");
}

TEST(JsonlTest, ReplaceAndContinue) {
  TempDir dir;
  for (auto [mode, expected] : std::vector<std::pair<JsonlWriter::Mode, std::string>>{
           {JsonlWriter::Mode::Replace, "{}\n"}, {JsonlWriter::Mode::Continue, "{\"old\":1}\n{}\n"}}) {
    auto writer = JsonlWriter::open(dir.write("m", "{\"old\":1}\n"), mode);
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(writer->write(Json::object()).ok());
    EXPECT_EQ(dir.read("m"), expected);
  }
}

TEST(JsonlTest, ContinueEndsALineThatWasCutOff) {
  TempDir dir;
  auto writer = JsonlWriter::open(dir.write("m", "{}\n{\"ste"), JsonlWriter::Mode::Continue);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->write({{"step", 2}}).ok());
  EXPECT_EQ(dir.read("m"), "{}\n{\"ste\n{\"step\":2}\n");
}

TEST(JsonlTest, Errors) {
  TempDir dir;
  expectError(JsonlWriter::open(dir.path("none/m")).status(), StatusCode::kNotFound,
              {dir.path("none/m"), "cannot be created", "check the path"});
  expectError(JsonlWriter::open(dir.path("")).status(), StatusCode::kUnavailable, {dir.path(""), "check its type"});
  auto writer = JsonlWriter::open(dir.path("m"));
  ASSERT_TRUE(writer.ok());
  expectError(writer->write(Json::array({1})), StatusCode::kInvalidArgument, {dir.path("m"), "JSON array", "object"});
  expectError(writer->write({{"s", "\xff"}}), StatusCode::kInvalidArgument, {dir.path("m"), "not UTF-8"});
  expectError(writer->write({{"k\xc0", 1}}), StatusCode::kInvalidArgument, {dir.path("m"), "not UTF-8"});
  EXPECT_EQ(dir.read("m"), "");
}

} // namespace
} // namespace splitcast::runtime
