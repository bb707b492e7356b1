#include "runtime/io/Npy.h"
#include "tests/runtime/io/TempDir.h"

#include <numeric>

namespace splitcast::runtime {
namespace {

using absl::StatusCode;

/// A .npy file with the given dictionary and data, as NumPy lays it out.
std::string npy(const std::string &dictionary, const std::string &data, int major = 1) {
  std::string header = dictionary;
  size_t start = major == 1 ? 10 : 12;
  header.resize((start + header.size() + 1 + 63) / 64 * 64 - start - 1, ' ');
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  for (size_t i = 0; i < start - 8; ++i)
    bytes += static_cast<char>(header.size() >> 8 * i & 0xff);
  return bytes + header + data;
}

std::string dictionary(const std::string &descr, const std::string &shape, const std::string &order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

std::string bytesUpTo(int64_t count) {
  std::string bytes(count, '\0');
  std::iota(bytes.begin(), bytes.end(), 0);
  return bytes;
}

TEST(NpyFileTest, ReadsEveryTypeAndVersion) {
  TempDir dir;
  for (auto [descr, type] : std::vector<std::pair<std::string, ElementType>>{{"<f2", ElementType::F16},
                                                                             {"<f4", ElementType::F32},
                                                                             {"<f8", ElementType::F64},
                                                                             {"<i4", ElementType::I32},
                                                                             {"<i8", ElementType::I64},
                                                                             {"|i1", ElementType::I8},
                                                                             {"|b1", ElementType::I1}})
    for (int major : {1, 2, 3}) {
      std::string data = bytesUpTo(6 * bytesOf(type));
      auto file = NpyFile::open(dir.write("a.npy", npy(dictionary(descr, "(2, 3)"), data, major)));
      ASSERT_TRUE(file.ok()) << file.status();
      EXPECT_EQ(file->type(), type);
      EXPECT_EQ(file->shape(), (std::vector<int64_t>{2, 3}));
      EXPECT_EQ(file->numElements(), 6);
      for (int64_t offset = 0; offset <= 6; ++offset)
        for (int64_t count = 0; offset + count <= 6; ++count) {
          std::string piece(count * bytesOf(type), '?');
          ASSERT_TRUE(file->read(offset, count, piece.data()).ok());
          EXPECT_EQ(piece, data.substr(offset * bytesOf(type), count * bytesOf(type)));
        }
    }
}

TEST(NpyFileTest, ReadsEveryWayToWriteAHeader) {
  TempDir dir;
  for (auto [text, shape, bytes] : std::vector<std::tuple<std::string, std::vector<int64_t>, int64_t>>{
           {dictionary("|i1", "()"), {}, 1},
           {dictionary("|i1", "(3,)"), {3}, 3},
           {dictionary("|i1", "(0, 5)"), {0, 5}, 0},
           {dictionary("|i1", "(2,2,2,)"), {2, 2, 2}, 8},
           {"{\"shape\":(2,),\"descr\":\"|i1\",\"fortran_order\":False}", {2}, 2},
           {"  {'shape' : ( 2 , 1 ) ,\n 'descr':'|i1', 'fortran_order' : False } ", {2, 1}, 2}}) {
    auto file = NpyFile::open(dir.write("a.npy", npy(text, bytesUpTo(bytes))));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->shape(), shape);
  }
}

struct BadFile {
  std::string bytes;
  StatusCode code;
  std::vector<std::string> message;
};

TEST(NpyFileTest, RefusesWhatItDoesNotRead) {
  TempDir dir;
  const StatusCode kInvalid = StatusCode::kInvalidArgument;
  std::string good = dictionary("<f4", "(2,)"), data(8, 'x');
  std::string otherVersion = npy(good, data), minorVersion = npy(good, data);
  otherVersion[6] = 4;
  minorVersion[7] = 1;
  const std::vector<BadFile> rows = {
      {npy(dictionary(">f4", "(2,)"), data), kInvalid, {"'>f4'", "big-endian", "'<f4'", "newbyteorder"}},
      {npy(dictionary("<f4", "(2,)", "True"), data), kInvalid, {"Fortran order", "C order", "ascontiguousarray"}},
      {npy(dictionary("|O", "(1,)"), data), kInvalid, {"'|O'", "Python objects", "'<f4'", "save numbers"}},
      {npy(dictionary("<u2", "(4,)"), data), kInvalid, {"'<u2'", "'<i4'", "astype"}},
      {npy(dictionary("", "(4,)"), data), kInvalid, {"dtype ''", "astype"}},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", data),
       kInvalid,
       {"structured", "each field"}},
      {otherVersion, kInvalid, {"version 4.0", "1.0, 2.0 and 3.0", "numpy.save"}},
      {minorVersion, kInvalid, {"version 1.1", "1.0, 2.0 and 3.0"}},
      {"PK\x03\x04 an .npz archive, say", kInvalid, {"does not begin", "NUMPY", "numpy.save"}},
      {npy(std::string(70000, ' '), data, 2), kInvalid, {"header of 70", "at most 65536"}},
  };
  for (const BadFile &row : rows) {
    auto file = NpyFile::open(dir.write("bad.npy", row.bytes));
    expectError(file.status(), row.code, {dir.path("bad.npy")});
    expectError(file.status(), row.code, row.message);
  }
}

TEST(NpyFileTest, RefusesHeadersThatAreNotUnderstood) {
  TempDir dir;
  for (auto [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "expected '{'"},
           {"{", "expected a string"},
           {"{}", "expected all of descr"},
           {"{'descr': '<f4', 'fortran_order': False}", "expected all of descr"},
           {"{'descr: '<f4'}", "expected ':'"},
           {"{'descr", "found a string without end"},
           {"{'descr': 4}", "expected a string"},
           {"{'name': 'x'}", "found the key 'name'"},
           {"{'descr': '<f4', 'descr': '<f4'}", "found a second 'descr'"},
           {"{'fortran_order': 0}", "expected True or False"},
           {"{'shape': [2]}", "expected '('"},
           {"{'shape': (2)}", "expected ','"},
           {"{'shape': (-2,)}", "expected an extent"},
           {"{'shape': (2.0,)}", "expected ','"},
           {"{'shape': (2 3)}", "expected ','"},
           {"{'shape': (2,", "expected an extent"},
           {"{'shape': (9223372036854775808,)}", "above 2^63 - 1"},
           {"{'descr': '<f4' 'shape': (2,)}", "expected ',' or '}'"},
           {dictionary("<f4", "(2,)") + "x", "found more after the dictionary"}}) {
    auto file = NpyFile::open(dir.write("bad.npy", npy(text, std::string(8, 'x'))));
    expectError(file.status(), StatusCode::kInvalidArgument,
                {dir.path("bad.npy"), "cannot be parsed", message, "numpy.save"});
  }
}

TEST(NpyFileTest, RefusesEveryOtherLength) {
  TempDir dir;
  for (int major : {1, 2}) {
    std::string whole = npy(dictionary("<f4", "(2, 3)"), bytesUpTo(24), major);
    for (size_t length = 0; length < whole.size(); ++length) {
      auto file = NpyFile::open(dir.write("bad.npy", whole.substr(0, length)));
      expectError(file.status(), StatusCode::kDataLoss, {dir.path("bad.npy"), "get it again"});
    }
    expectError(NpyFile::open(dir.write("bad.npy", whole.substr(0, whole.size() - 1))).status(), StatusCode::kDataLoss,
                {"cut off", "23 bytes", "(2, 3)", "'<f4'", "24"});
    expectError(NpyFile::open(dir.write("bad.npy", whole + "x")).status(), StatusCode::kDataLoss,
                {"too long", "25 bytes", "(2, 3)", "24"});
  }
  expectError(
      NpyFile::open(dir.write("bad.npy", npy(dictionary("<f4", "(4611686018427387904,)"), bytesUpTo(8)))).status(),
      StatusCode::kDataLoss, {"4611686018427387904", "more than 2^63 - 1"});
}

TEST(NpyFileTest, RefusesRangesOutside) {
  TempDir dir;
  auto file = NpyFile::open(dir.write("a.npy", npy(dictionary("<f4", "(2, 3)"), bytesUpTo(24))));
  ASSERT_TRUE(file.ok());
  char bytes[64];
  for (auto [offset, count] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 7}, {6, 1}, {7, 0}, {-1, 1}, {0, -1}, {INT64_MAX, 1}, {1, INT64_MAX}})
    expectError(file->read(offset, count, bytes), StatusCode::kInvalidArgument,
                {dir.path("a.npy"), std::to_string(count) + " elements from element " + std::to_string(offset),
                 "6 elements", "within"});
}

TEST(NpyWriterTest, WrittenFilesAreRead) {
  TempDir dir;
  for (ElementType type : {ElementType::F16, ElementType::F32, ElementType::F64, ElementType::I32, ElementType::I64,
                           ElementType::I8, ElementType::I1})
    for (std::vector<int64_t> rowShape : std::vector<std::vector<int64_t>>{{}, {3}, {2, 2}, {0}}) {
      auto writer = NpyWriter::create(dir.path("a.npy"), type, rowShape);
      ASSERT_TRUE(writer.ok()) << writer.status();
      int64_t rowElements = 1;
      for (int64_t extent : rowShape)
        rowElements *= extent;
      std::string data = bytesUpTo(6 * rowElements * bytesOf(type));
      int64_t done = 0, rowBytes = rowElements * bytesOf(type);
      for (int64_t rows : {1, 0, 3, 2}) {
        ASSERT_TRUE(writer->append(rows, data.data() + done * rowBytes).ok());
        done += rows;
      }
      ASSERT_TRUE(writer->commit().ok());
      auto file = NpyFile::open(dir.path("a.npy"));
      ASSERT_TRUE(file.ok()) << file.status();
      std::vector<int64_t> shape = {6};
      shape.insert(shape.end(), rowShape.begin(), rowShape.end());
      EXPECT_EQ(file->shape(), shape);
      EXPECT_EQ(file->type(), type);
      std::string back(data.size(), '?');
      ASSERT_TRUE(file->read(0, file->numElements(), back.data()).ok());
      EXPECT_EQ(back, data);
      EXPECT_EQ((dir.read("a.npy").size() - data.size()) % 64, 0u);
    }
  EXPECT_EQ(dir.contents().size(), 1u);
}

TEST(NpyWriterTest, RowsInParts) {
  TempDir dir;
  auto writer = NpyWriter::create(dir.path("a.npy"), ElementType::I32, {2, 3});
  ASSERT_TRUE(writer.ok()) << writer.status();
  const int32_t data[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  ASSERT_TRUE(writer->writePart(4, 2, data + 4).ok() && writer->writePart(0, 4, data).ok() && writer->endRow().ok());
  ASSERT_TRUE(writer->append(1, data + 6).ok());
  ASSERT_TRUE(writer->writePart(0, 6, data).ok()); // its row is never ended
  for (auto [at, count] : {std::pair(-1, 2), std::pair(0, -1), std::pair(5, 2), std::pair(7, 0)})
    EXPECT_EQ(writer->writePart(at, count, data).code(), absl::StatusCode::kInvalidArgument) << at << " " << count;
  EXPECT_TRUE(writer->writePart(6, 0, data).ok());
  ASSERT_TRUE(writer->commit().ok());
  auto file = NpyFile::open(dir.path("a.npy"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->shape(), (std::vector<int64_t>{2, 2, 3}));
  int32_t back[12] = {};
  ASSERT_TRUE(file->read(0, 12, back).ok());
  EXPECT_EQ(std::memcmp(back, data, sizeof(data)), 0);
}

/// What numpy.save(numpy.arange(4, dtype='<i4').reshape(2, 2)) writes has this dictionary; ours has the same, with more
/// padding.
TEST(NpyWriterTest, HeaderIsNumPys) {
  TempDir dir;
  auto writer = NpyWriter::create(dir.path("a.npy"), ElementType::I32, {2});
  ASSERT_TRUE(writer.ok());
  const int32_t data[] = {0, 1, 2, 3};
  ASSERT_TRUE(writer->append(2, data).ok());
  ASSERT_TRUE(writer->commit().ok());
  std::string bytes = dir.read("a.npy"), text = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }";
  ASSERT_EQ(bytes.size(), 128u + 16);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(bytes.substr(10, text.size()), text);
  EXPECT_EQ(bytes.substr(10 + text.size(), 117 - text.size()), std::string(117 - text.size(), ' '));
  EXPECT_EQ(bytes[127], '\n');
}

TEST(NpyWriterTest, NoRowsAreAnArrayOfNone) {
  TempDir dir;
  auto writer = NpyWriter::create(dir.path("a.npy"), ElementType::F32, {3});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->commit().ok());
  auto file = NpyFile::open(dir.path("a.npy"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->shape(), (std::vector<int64_t>{0, 3}));
}

TEST(NpyWriterTest, NothingChangesWithoutCommit) {
  TempDir dir;
  dir.write("a.npy", "old");
  auto before = dir.contents();
  {
    auto writer = NpyWriter::create(dir.path("a.npy"), ElementType::F32, {1});
    ASSERT_TRUE(writer.ok());
    float row = 1;
    ASSERT_TRUE(writer->append(1, &row).ok());
    EXPECT_EQ(dir.read("a.npy"), "old");
  }
  EXPECT_EQ(dir.contents(), before);
}

TEST(NpyWriterTest, NothingIsWrittenAfterCommit) {
  TempDir dir;
  auto writer = NpyWriter::create(dir.path("a.npy"), ElementType::F32, {1});
  ASSERT_TRUE(writer.ok());
  const float row = 1;
  ASSERT_TRUE(writer->append(1, &row).ok() && writer->commit().ok());
  dir.write("a.npy", "the file of somebody else");
  auto before = dir.contents();
  for (const absl::Status &status :
       {writer->append(1, &row), writer->writePart(0, 1, &row), writer->endRow(), writer->commit()})
    expectError(status, StatusCode::kFailedPrecondition, {dir.path("a.npy"), "was committed", "create a new one"});
  EXPECT_EQ(dir.contents(), before);
}

TEST(NpyWriterTest, Errors) {
  TempDir dir;
  auto before = dir.contents();
  expectError(NpyWriter::create(dir.path("a.npy"), ElementType::BF16, {}).status(), StatusCode::kInvalidArgument,
              {dir.path("a.npy"), "bf16", "convert to f32"});
  expectError(NpyWriter::create(dir.path("a.npy"), ElementType::F32, {-1, 2}).status(), StatusCode::kInvalidArgument,
              {dir.path("a.npy"), "(-1, 2)", "at least 0"});
  expectError(NpyWriter::create(dir.path("a.npy"), ElementType::F32, {INT64_MAX}).status(),
              StatusCode::kInvalidArgument, {dir.path("a.npy"), "less than 2^63"});
  expectError(NpyWriter::create(dir.path("none/a.npy"), ElementType::F32, {}).status(), StatusCode::kNotFound,
              {dir.path("none/a.npy"), "check the path"});
  {
    auto writer = NpyWriter::create(dir.path("a.npy"), ElementType::F32, {3});
    ASSERT_TRUE(writer.ok());
    expectError(writer->append(-1, nullptr), StatusCode::kInvalidArgument,
                {dir.path("a.npy"), "-1 rows", "at least 0"});
    expectError(writer->append(INT64_MAX, nullptr), StatusCode::kInvalidArgument, {"less than 2^63"});
  }
  EXPECT_EQ(dir.contents(), before);
}

} // namespace
} // namespace splitcast::runtime
