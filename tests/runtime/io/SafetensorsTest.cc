#include "runtime/io/Safetensors.h"
#include "tests/runtime/io/TempDir.h"

#include <cstring>
#include <numeric>

namespace splitcast::runtime {
namespace {

using absl::StatusCode;

std::string lengthOf(uint64_t bytes) {
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<char>(bytes >> 8 * i & 0xff);
  return length;
}

/// A file with the given header and data.
std::string file(const std::string &header, const std::string &data) { return lengthOf(header.size()) + header + data; }

std::string entry(const std::string &dtype, const std::string &shape, const std::string &offsets) {
  return "{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

TEST(SafetensorsFileTest, ReadsAFileLaidOutByHand) {
  TempDir dir;
  // Bytes 0..7 are b, 8..13 a, with an empty tensor and a scalar between; names are not in the order of the bytes.
  std::string header = "{\"__metadata__\":{\"step\":\"7\"},\"b\":" + entry("F32", "[2]", "[0,8]") +
                       ",\"a\":" + entry("BF16", "[1,3]", "[8,14]") + ",\"none\":" + entry("I64", "[0,4]", "[8,8]") +
                       ",\"scalar\":" + entry("I8", "[]", "[14,15]") + "}   ";
  auto found = SafetensorsFile::open(dir.write("c", file(header, "01234567abcdefz")));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->metadata(), (std::map<std::string, std::string>{{"step", "7"}}));
  ASSERT_EQ(found->tensors().size(), 4u);
  const StoredTensor *a = found->find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->type, ElementType::BF16);
  EXPECT_EQ(a->shape, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(a->elements, 3);
  EXPECT_EQ(found->find("c"), nullptr);
  std::string bytes(4, '?');
  ASSERT_TRUE(found->read("a", 1, 2, bytes.data()).ok());
  EXPECT_EQ(bytes, "cdef");
  ASSERT_TRUE(found->read("b", 1, 1, bytes.data()).ok());
  EXPECT_EQ(bytes, "4567");
  ASSERT_TRUE(found->read("none", 0, 0, bytes.data()).ok());
  ASSERT_TRUE(found->read("scalar", 0, 1, bytes.data()).ok());
  EXPECT_EQ(bytes, "z567");
}

TEST(SafetensorsFileTest, RefusesBadHeaders) {
  TempDir dir;
  std::string f32 = entry("F32", "[2]", "[0,8]"), data(8, 'x');
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "does not begin with '{'"},
      {"[]", "does not begin with '{'"},
      {" {\"a\":" + f32 + "}", "does not begin with '{'"},
      {"{\"a\":" + f32, "not JSON"},
      {"{\"a\":" + f32 + "} x", "not JSON"},
      {"{\"a\xff\":" + f32 + "}", "not JSON"},
      {"{\"a\":" + f32 + ",\"a\":" + f32 + "}", "the name 'a' twice"},
      {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "the name 'dtype' twice"},
      {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"},\"a\":" + f32 + "}", "the name 'k' twice"},
      {"{\"a\":" + entry("F32", "[[2]]", "[0,8]") + "}", "nested more than three deep"},
      {"{\"a\":" + entry("F32", "{\"n\":2}", "[0,8]") + "}", "'a' has a shape that is not a list"},
      {"{\"a\":" + entry("F32", "[2]", "{\"n\":[0]}") + "}", "nested more than three deep"},
      {"{\"a\":" + entry("F32", "[\"2\"]", "[0,8]") + "}", "'a' has a shape that is not a list"},
      {"{\"a\":" + entry("F32", "[null,2]", "[0,8]") + "}", "'a' has a shape that is not a list"},
      {"{\"a\":5}", "'a' is not an object of exactly"},
      {"{\"a\":{\"dtype\":[],\"shape\":[2],\"data_offsets\":[0,8]}}", "'a' has dtype of the JSON type array"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":[1],\"x\":2}}", "the name 'x' twice"},
      {"{\"__metadata__\":{},\"__metadata__\":{},\"a\":" + f32 + "}", "the name '__metadata__' twice"},
      {"{\"__metadata__\":{\"k\":[]},\"a\":" + f32 + "}", "'k' in '__metadata__' is a JSON array; only strings"},
      {"{\"__metadata__\":7,\"a\":" + f32 + "}", "'__metadata__' is a JSON number; an object of strings"},
      {"{\"__metadata__\":[],\"a\":" + f32 + "}", "'__metadata__' is a JSON array; an object of strings"},
      {"{\"__metadata__\":{\"k\":1},\"a\":" + f32 + "}", "'k' in '__metadata__' is a JSON number; only strings"},
      {"{\"a\":[]}", "'a' is not an object of exactly"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", "'a' is not an object of exactly"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"more\":1}}",
       "'a' is not an object of exactly"},
      {"{\"a\":" + entry("F4", "[2]", "[0,8]") + "}", "'a' has dtype \"F4\"; F64, F32"},
      {"{\"a\":{\"dtype\":1,\"shape\":[2],\"data_offsets\":[0,8]}}", "'a' has dtype 1; F64"},
      {"{\"a\":" + entry("F32", "2", "[0,8]") + "}", "'a' has a shape that is not a list"},
      {"{\"a\":" + entry("F32", "[-2]", "[0,8]") + "}", "'a' has a shape that is not a list"},
      {"{\"a\":" + entry("F32", "[2.0]", "[0,8]") + "}", "'a' has a shape that is not a list"},
      {"{\"a\":" + entry("F32", "[18446744073709551615]", "[0,8]") + "}", "'a' has a shape that is not a list"},
      {"{\"a\":" + entry("F32", "[2]", "[8]") + "}", "'a' has data_offsets that are not [begin, end]"},
      {"{\"a\":" + entry("F32", "[2]", "[8,0]") + "}", "'a' has data_offsets that are not [begin, end]"},
      {"{\"a\":" + entry("F32", "[2]", "[-8,0]") + "}", "'a' has data_offsets that are not [begin, end]"},
      {"{\"a\":" + entry("F32", "[3]", "[0,8]") + "}",
       "'a' has 8 bytes by its data_offsets, but shape [3] of F32 has 12"},
      {"{\"a\":" + entry("F32", "[4294967296,4294967296]", "[0,8]") + "}", "has more than 2^63 - 1"},
      {"{\"a\":" + entry("F32", "[1]", "[4,8]") + "}",
       "'a' begins at byte 4 of the data, but the tensors before it end at byte 0"},
      {"{\"a\":" + entry("F32", "[2]", "[0,8]") + ",\"b\":" + entry("F32", "[1]", "[4,8]") + "}",
       "'b' begins at byte 4 of the data, but the tensors before it end at byte 8"},
      {"{\"a\":" + entry("I8", "[3]", "[0,3]") + ",\"b\":" + entry("F32", "[1]", "[4,8]") + "}",
       "'b' begins at byte 4 of the data, but the tensors before it end at byte 3"},
      {"{\"a\":" + entry("F32", "[1]", "[0,4]") + "}", "too long: 8 bytes follow the header, but the tensors have 4"},
      {"{}", "too long: 8 bytes"},
      {"{\"a\":" + entry("F32", "[3]", "[0,12]") + "}", "cut off: 8 bytes follow the header, but the tensors have 12"},
  };
  for (const auto &[header, message] : rows) {
    auto found = SafetensorsFile::open(dir.write("bad", file(header, data)));
    expectError(found.status(), StatusCode::kDataLoss, {dir.path("bad"), "not valid", message, "get it again"});
  }
}

/// A name is told apart from all others, however many there are.
TEST(SafetensorsFileTest, ReadsManyTensors) {
  TempDir dir;
  const auto headerOf = [](int64_t tensors, const std::string &last) {
    std::string header = "{";
    for (int64_t i = 0; i < tensors; ++i)
      header += "\"" + (i + 1 < tensors ? "t" + std::to_string(i) : last) +
                "\":" + entry("I8", "[1]", "[" + std::to_string(i) + "," + std::to_string(i + 1) + "]") + ",";
    header.back() = '}';
    return header;
  };
  constexpr int64_t kTensors = 50'000; // a header of 3 MB
  auto found = SafetensorsFile::open(dir.write("many", file(headerOf(kTensors, "last"), std::string(kTensors, 'x'))));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->tensors().size(), kTensors);
  EXPECT_NE(found->find("t49998"), nullptr);
  auto twice = SafetensorsFile::open(dir.write("twice", file(headerOf(kTensors, "t7"), std::string(kTensors, 'x'))));
  expectError(twice.status(), StatusCode::kDataLoss, {dir.path("twice"), "the name 't7' twice"});
}

TEST(SafetensorsFileTest, RefusesBadLengths) {
  TempDir dir;
  std::string whole = file("{\"a\":" + entry("F32", "[2]", "[0,8]") + "}", std::string(8, 'x'));
  for (size_t length = 0; length < whole.size(); ++length)
    expectError(SafetensorsFile::open(dir.write("bad", whole.substr(0, length))).status(), StatusCode::kDataLoss,
                {dir.path("bad"), "get it again"});
  expectError(SafetensorsFile::open(dir.write("bad", whole + "x")).status(), StatusCode::kDataLoss, {"too long"});
  expectError(SafetensorsFile::open(dir.write("bad", "1234")).status(), StatusCode::kDataLoss,
              {"has 4 bytes", "at least 8"});
  for (uint64_t length : {uint64_t{9}, uint64_t{1} << 62, UINT64_MAX})
    expectError(SafetensorsFile::open(dir.write("bad", lengthOf(length) + "{}")).status(), StatusCode::kDataLoss,
                {"header has " + std::to_string(length) + " bytes", "only 2 follow"});
  // A sparse file long enough for the header that it claims.
  dir.write("bad", lengthOf(kMaxSafetensorsHeaderBytes + 1) + "{}");
  std::filesystem::resize_file(dir.path("bad"), 2 * kMaxSafetensorsHeaderBytes);
  expectError(SafetensorsFile::open(dir.path("bad")).status(), StatusCode::kDataLoss,
              {"20000001 bytes", "at most 20000000"});
  expectError(SafetensorsFile::open(dir.path("none")).status(), StatusCode::kNotFound, {dir.path("none")});
}

TEST(SafetensorsFileTest, RefusesReadsOutside) {
  TempDir dir;
  auto found = SafetensorsFile::open(
      dir.write("c", file("{\"a\":" + entry("F32", "[2]", "[0,8]") + ",\"u\":" + entry("U8", "[1]", "[8,9]") + "}",
                          "123456789")));
  ASSERT_TRUE(found.ok()) << found.status();
  char bytes[64];
  for (auto [offset, count] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 3}, {2, 1}, {3, 0}, {-1, 1}, {0, -1}, {INT64_MAX, 1}, {1, INT64_MAX}})
    expectError(found->read("a", offset, count, bytes), StatusCode::kInvalidArgument,
                {dir.path("c"), std::to_string(count) + " elements from element " + std::to_string(offset), "'a'",
                 "has 2 elements", "within"});
  expectError(found->read("b", 0, 1, bytes), StatusCode::kNotFound, {dir.path("c"), "'b'", "names"});
  expectError(found->read("u", 0, 1, bytes), StatusCode::kInvalidArgument,
              {dir.path("c"), "'u'", "U8", "F64, F32", "convert"});
}

const std::vector<TensorToStore> &storedTensors() {
  static const std::vector<TensorToStore> tensors = {
      {"w", ElementType::F32, {3, 4}},     {"b\"\\\n\xc3\xa9", ElementType::F64, {5}},
      {"empty", ElementType::F32, {0, 2}}, {"scalar", ElementType::I64, {}},
      {"half", ElementType::F16, {3}},     {"brain", ElementType::BF16, {1}},
      {"int", ElementType::I32, {2}},      {"byte", ElementType::I8, {3}},
      {"bool", ElementType::I1, {1}}};
  return tensors;
}

int64_t elementsOf(const TensorToStore &tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<int64_t>());
}

std::string dataOf(const TensorToStore &tensor) {
  std::string data(elementsOf(tensor) * bytesOf(tensor.type), '\0');
  std::iota(data.begin(), data.end(), static_cast<char>(tensor.name.size() * 7));
  return data;
}

/// Writes every `parts`-th element of every tensor, beginning with element `part`.
void writePart(SafetensorsWriter &writer, int64_t part, int64_t parts) {
  for (const TensorToStore &tensor : storedTensors()) {
    std::string data = dataOf(tensor);
    for (int64_t element = part; element < elementsOf(tensor); element += parts)
      ASSERT_TRUE(writer.write(tensor.name, element, data.data() + element * bytesOf(tensor.type), 1).ok());
  }
}

void expectStored(const std::string &path) {
  auto found = SafetensorsFile::open(path);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->tensors().size(), storedTensors().size());
  for (const TensorToStore &tensor : storedTensors()) {
    const StoredTensor *stored = found->find(tensor.name);
    ASSERT_NE(stored, nullptr) << tensor.name;
    EXPECT_EQ(stored->type, tensor.type);
    EXPECT_EQ(stored->shape, tensor.shape);
    std::string back(stored->bytes, '?');
    ASSERT_TRUE(found->read(tensor.name, 0, stored->elements, back.data()).ok());
    EXPECT_EQ(back, dataOf(tensor));
  }
}

TEST(SafetensorsWriterTest, WrittenFilesAreRead) {
  TempDir dir;
  std::map<std::string, std::string> metadata = {{"step", "12"}, {"quote\"", "\xe2\x82\xac"}};
  auto writer = SafetensorsWriter::create(dir.path("c"), storedTensors(), metadata);
  ASSERT_TRUE(writer.ok()) << writer.status();
  writePart(*writer, 0, 1);
  ASSERT_TRUE(writer->commit().ok());
  expectStored(dir.path("c"));
  EXPECT_EQ(SafetensorsFile::open(dir.path("c"))->metadata(), metadata);
  EXPECT_EQ(dir.contents().size(), 1u);
}

TEST(SafetensorsWriterTest, BytesOfAFile) {
  TempDir dir;
  auto writer = SafetensorsWriter::create(dir.path("c"), {{"b", ElementType::I8, {2}}, {"a", ElementType::I32, {1}}},
                                          {{"k", "v"}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(writer->write("b", 0, "xy", 2).ok());
  ASSERT_TRUE(writer->write("a", 0, "1234", 1).ok());
  ASSERT_TRUE(writer->commit().ok());
  std::string header = "{\"__metadata__\":{\"k\":\"v\"},\"a\":" + entry("I32", "[1]", "[0,4]") +
                       ",\"b\":" + entry("I8", "[2]", "[4,6]") + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(dir.read("c"), file(header, "1234xy"));
}

TEST(SafetensorsWriterTest, OrderOfTheListDoesNotMatter) {
  TempDir dir;
  std::vector<TensorToStore> reversed(storedTensors().rbegin(), storedTensors().rend());
  for (auto [name, tensors] : std::vector<std::pair<std::string, std::vector<TensorToStore>>>{
           {"forward", storedTensors()}, {"reversed", reversed}}) {
    auto writer = SafetensorsWriter::create(dir.path(name), tensors);
    ASSERT_TRUE(writer.ok());
    writePart(*writer, 0, 1);
    ASSERT_TRUE(writer->commit().ok());
  }
  EXPECT_EQ(dir.read("forward"), dir.read("reversed"));
}

TEST(SafetensorsWriterTest, DataIsAligned) {
  TempDir dir;
  for (int length = 1; length < 20; ++length) {
    auto writer = SafetensorsWriter::create(dir.path("c"), {{std::string(length, 'n'), ElementType::F64, {1}}});
    ASSERT_TRUE(writer.ok());
    double value = 1;
    ASSERT_TRUE(writer->write(std::string(length, 'n'), 0, &value, 1).ok());
    ASSERT_TRUE(writer->commit().ok());
    EXPECT_EQ(SafetensorsFile::open(dir.path("c"))->tensors()[0].begin % 8, 0);
  }
}

TEST(SafetensorsWriterTest, SeveralWritersOfOneFile) {
  TempDir dir;
  auto first = SafetensorsWriter::create(dir.path("c"), storedTensors(), {{"only", "the creator knows"}});
  ASSERT_TRUE(first.ok()) << first.status();
  std::vector<TensorToStore> reversed(storedTensors().rbegin(), storedTensors().rend());
  auto second = SafetensorsWriter::attach(first->temporaryPath(), storedTensors());
  auto third = SafetensorsWriter::attach(first->temporaryPath(), reversed);
  ASSERT_TRUE(second.ok()) << second.status();
  ASSERT_TRUE(third.ok()) << third.status();
  writePart(*second, 1, 3);
  writePart(*first, 0, 3);
  expectError(first->commit(second->writtenBytes()), StatusCode::kFailedPrecondition,
              {dir.path("c"), "bytes of tensors were written", "exactly once"});
  writePart(*third, 2, 3);
  expectError(second->commit(), StatusCode::kFailedPrecondition, {"attached", "flush"});
  ASSERT_TRUE(second->flush().ok());
  ASSERT_TRUE(third->flush().ok());
  ASSERT_TRUE(first->commit(second->writtenBytes() + third->writtenBytes()).ok());
  expectStored(dir.path("c"));
  EXPECT_EQ(dir.contents().size(), 1u);
}

TEST(SafetensorsWriterTest, AttachRefusesOtherTensors) {
  TempDir dir;
  auto first = SafetensorsWriter::create(dir.path("c"), {{"a", ElementType::F32, {2}}});
  ASSERT_TRUE(first.ok());
  for (const std::vector<TensorToStore> &other :
       std::vector<std::vector<TensorToStore>>{{{"b", ElementType::F32, {2}}},
                                               {{"a", ElementType::I32, {2}}},
                                               {{"a", ElementType::F32, {2, 1}}},
                                               {},
                                               {{"a", ElementType::F32, {2}}, {"b", ElementType::F32, {0}}}})
    expectError(SafetensorsWriter::attach(first->temporaryPath(), other).status(), StatusCode::kInvalidArgument,
                {first->temporaryPath(), "other tensors", "same list"});
  expectError(SafetensorsWriter::attach(dir.path("none"), {}).status(), StatusCode::kNotFound, {dir.path("none")});
  EXPECT_EQ(dir.contents().size(), 1u) << "an attached writer never removes the file";
}

TEST(SafetensorsWriterTest, NothingChangesWithoutCommit) {
  TempDir dir;
  dir.write("c", "old");
  auto before = dir.contents();
  {
    auto writer = SafetensorsWriter::create(dir.path("c"), storedTensors());
    ASSERT_TRUE(writer.ok());
    SafetensorsWriter moved = std::move(*writer);
    writePart(moved, 0, 2);
    expectError(moved.commit(), StatusCode::kFailedPrecondition, {dir.path("c")});
    EXPECT_EQ(dir.read("c"), "old");
  }
  EXPECT_EQ(dir.contents(), before);
}

TEST(SafetensorsWriterTest, NothingIsWrittenAfterCommit) {
  TempDir dir;
  auto writer = SafetensorsWriter::create(dir.path("c"), {{"a", ElementType::F32, {1}}});
  ASSERT_TRUE(writer.ok());
  const float value = 1, other = 2;
  ASSERT_TRUE(writer->write("a", 0, &value, 1).ok() && writer->commit().ok());
  auto before = dir.contents();
  for (const absl::Status &status : {writer->write("a", 0, &other, 1), writer->commit()})
    expectError(status, StatusCode::kFailedPrecondition, {dir.path("c"), "was committed", "create a new one"});
  EXPECT_EQ(dir.contents(), before);
}

TEST(SafetensorsWriterTest, RefusesBadTensors) {
  TempDir dir;
  const std::vector<std::pair<std::vector<TensorToStore>, std::string>> rows = {
      {{{"a", ElementType::F32, {1}}, {"b", ElementType::F32, {1}}, {"a", ElementType::I8, {1}}}, "'a' is given twice"},
      {{{"__metadata__", ElementType::F32, {1}}}, "a name that the format does not allow"},
      {{{"\xff", ElementType::F32, {1}}}, "a name that the format does not allow"},
      {{{"a", ElementType::F32, {-1}}}, "shape [-1]; extents of at least 0"},
      {{{"a", ElementType::F64, {INT64_MAX / 8}}}, "less than 2^63 bytes"},
      {{{"a", ElementType::I8, {INT64_MAX / 2}}, {"b", ElementType::I8, {INT64_MAX / 2}}}, "'b' has shape"},
  };
  for (const auto &[tensors, message] : rows)
    expectError(SafetensorsWriter::create(dir.path("c"), tensors).status(), StatusCode::kInvalidArgument,
                {dir.path("c"), "cannot be written", message});
  expectError(SafetensorsWriter::create(dir.path("c"), {}, {{"k", "\xff"}}).status(), StatusCode::kInvalidArgument,
              {dir.path("c"), "'k'", "UTF-8"});
  expectError(SafetensorsWriter::create(dir.path("none/c"), {}).status(), StatusCode::kNotFound, {dir.path("none/c")});
  // More bytes than the file system has room for: the temporary file must go, too.
  auto huge = SafetensorsWriter::create(dir.path("c"), {{"a", ElementType::I8, {INT64_MAX / 2}}});
  if (!huge.ok())
    expectError(huge.status(), StatusCode::kUnavailable, {dir.path("c"), "cannot be given the length"});
  huge = absl::UnknownError("");
  EXPECT_TRUE(dir.contents().empty());
}

/// What is written can be read: both ends have one limit.
TEST(SafetensorsWriterTest, RefusesLongHeaders) {
  TempDir dir;
  const auto tensorsWith = [](size_t headerBytes) {
    const size_t others = ("{\"\":" + entry("I8", "[1]", "[0,1]") + "}").size();
    return std::vector<TensorToStore>{{std::string(headerBytes - others, 'n'), ElementType::I8, {1}}};
  };
  auto most = SafetensorsWriter::create(dir.path("most"), tensorsWith(kMaxSafetensorsHeaderBytes));
  ASSERT_TRUE(most.ok()) << most.status();
  EXPECT_TRUE(SafetensorsFile::open(most->temporaryPath()).ok());
  const auto before = dir.contents().size();
  expectError(SafetensorsWriter::create(dir.path("c"), tensorsWith(kMaxSafetensorsHeaderBytes + 1)).status(),
              StatusCode::kInvalidArgument,
              {dir.path("c"), "cannot be written", "would have 20000008 bytes", "at most 20000000", "fewer tensors"});
  EXPECT_EQ(dir.contents().size(), before);
}

TEST(SafetensorsWriterTest, RefusesWritesOutside) {
  TempDir dir;
  auto writer = SafetensorsWriter::create(dir.path("c"), {{"a", ElementType::F32, {2}}});
  ASSERT_TRUE(writer.ok());
  float values[4] = {};
  for (auto [offset, count] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 3}, {2, 1}, {3, 0}, {-1, 1}, {0, -1}, {INT64_MAX, 1}, {1, INT64_MAX}})
    expectError(writer->write("a", offset, values, count), StatusCode::kInvalidArgument,
                {dir.path("c"), "'a'", "has 2 elements", "within"});
  expectError(writer->write("b", 0, values, 1), StatusCode::kNotFound,
              {dir.path("c"), "'b'", "when the file is created"});
  EXPECT_EQ(writer->writtenBytes(), 0);
}

} // namespace
} // namespace splitcast::runtime
