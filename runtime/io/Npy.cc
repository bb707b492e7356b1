#include "runtime/io/Npy.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <cctype>
#include <cstring>
#include <optional>

namespace splitcast::runtime {

namespace {

struct TypeName {
  const char *descr;
  ElementType type;
};
constexpr TypeName kTypes[] = {{"<f2", ElementType::F16}, {"<f4", ElementType::F32}, {"<f8", ElementType::F64},
                               {"<i4", ElementType::I32}, {"<i8", ElementType::I64}, {"|i1", ElementType::I8},
                               {"|b1", ElementType::I1}};
constexpr const char *kTypesRead = "'<f2', '<f4', '<f8', '<i4', '<i8', '|i1' and '|b1' are supported";

constexpr char kMagic[] = "\x93NUMPY";
constexpr int64_t kMagicBytes = 6;
/// The longest header that is read. NumPy writes a few hundred bytes.
constexpr int64_t kMaxHeaderBytes = 1 << 16;

struct Header {
  std::string descr;
  bool isFortranOrder = false;
  std::vector<int64_t> shape;
};

/// Reads the header's dictionary, a Python literal such as
///   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
public:
  explicit HeaderParser(const std::string &text) : text(text) {}

  /// Returns nullopt if the text is not such a literal; problem() then tells
  /// why.
  std::optional<Header> parse();
  const std::string &problem() const { return message; }

private:
  bool fail(const std::string &why) {
    if (message.empty())
      message = absl::StrCat(why, " at byte ", at, " of the header");
    return false;
  }
  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n'))
      ++at;
  }
  bool accept(char c) {
    skipSpace();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  bool expect(char c) { return accept(c) || fail(absl::StrCat("expected '", std::string(1, c), "'")); }
  bool parseString(std::string &value);
  bool parseBool(bool &value);
  bool parseExtent(int64_t &value);
  bool parseShape(std::vector<int64_t> &shape);
  bool parseEntry(Header &header);

  const std::string &text;
  size_t at = 0;
  std::string message;
  bool hasDescr = false, hasOrder = false, hasShape = false;
};

bool HeaderParser::parseString(std::string &value) {
  skipSpace();
  char quote = at < text.size() ? text[at] : 0;
  if (quote == '[')
    return fail("found a structured dtype, which is not supported (save each field as an array of its own),");
  if (quote != '\'' && quote != '"')
    return fail("expected a string");
  size_t end = text.find(quote, at + 1);
  if (end == std::string::npos)
    return fail("found a string without end");
  value = text.substr(at + 1, end - at - 1);
  at = end + 1;
  return true;
}

bool HeaderParser::parseBool(bool &value) {
  skipSpace();
  for (bool candidate : {false, true}) {
    const char *word = candidate ? "True" : "False";
    if (text.compare(at, std::strlen(word), word) != 0)
      continue;
    at += std::strlen(word);
    value = candidate;
    return true;
  }
  return fail("expected True or False");
}

bool HeaderParser::parseExtent(int64_t &value) {
  skipSpace();
  if (at >= text.size() || !std::isdigit(static_cast<unsigned char>(text[at])))
    return fail("expected an extent of at least 0");
  value = 0;
  for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at)
    if (__builtin_mul_overflow(value, int64_t{10}, &value) || __builtin_add_overflow(value, text[at] - '0', &value))
      return fail("found an extent above 2^63 - 1");
  return true;
}

bool HeaderParser::parseShape(std::vector<int64_t> &shape) {
  if (!expect('('))
    return false;
  while (!accept(')')) {
    int64_t extent;
    if (!parseExtent(extent))
      return false;
    shape.push_back(extent);
    if (accept(','))
      continue;
    // (3) is a number in Python, not a tuple.
    return shape.size() > 1 ? expect(')') : fail("expected ','");
  }
  return true;
}

bool HeaderParser::parseEntry(Header &header) {
  std::string key;
  if (!parseString(key) || !expect(':'))
    return false;
  bool *known = key == "descr" ? &hasDescr : key == "fortran_order" ? &hasOrder : key == "shape" ? &hasShape : nullptr;
  if (!known)
    return fail(absl::StrCat("found the key '", key, "' (allowed are descr, fortran_order and shape)"));
  if (*known)
    return fail(absl::StrCat("found a second '", key, "'"));
  *known = true;
  if (known == &hasDescr)
    return parseString(header.descr);
  return known == &hasOrder ? parseBool(header.isFortranOrder) : parseShape(header.shape);
}

std::optional<Header> HeaderParser::parse() {
  Header header;
  if (!expect('{'))
    return std::nullopt;
  while (!accept('}')) {
    if (!parseEntry(header))
      return std::nullopt;
    if (!accept(',') && (skipSpace(), at >= text.size() || text[at] != '}')) {
      fail("expected ',' or '}'");
      return std::nullopt;
    }
  }
  skipSpace();
  if (at != text.size())
    fail("found more after the dictionary");
  else if (!hasDescr || !hasOrder || !hasShape)
    fail("expected all of descr, fortran_order and shape");
  return message.empty() ? std::optional<Header>(header) : std::nullopt;
}

absl::Status invalid(const File &file, const std::string &text) {
  return fileError(absl::StatusCode::kInvalidArgument, file.path(), text);
}

absl::Status damaged(const File &file, const std::string &text) {
  return fileError(absl::StatusCode::kDataLoss, file.path(), text);
}

absl::StatusOr<ElementType> typeOf(const File &file, const std::string &descr) {
  for (const TypeName &known : kTypes)
    if (descr == known.descr)
      return known.type;
  std::string found = absl::StrCat("has dtype '", descr, "'; ");
  if (!descr.empty() && descr[0] == '>')
    return invalid(file, absl::StrCat(found, "big-endian is not supported; ", kTypesRead,
                                      "; save array.astype(array.dtype.newbyteorder('<'))"));
  if (descr.size() > 1 && descr[1] == 'O')
    return invalid(file, absl::StrCat(found, "Python objects are not supported; ", kTypesRead, "; save numbers"));
  return invalid(file, absl::StrCat(found, kTypesRead, "; save array.astype(...) of one of them"));
}

/// Reads the text of the dictionary, and sets `dataOffset` to the first byte
/// after it.
absl::StatusOr<std::string> readHeaderText(const File &file, int64_t fileBytes, int64_t &dataOffset) {
  unsigned char start[12];
  if (fileBytes < kMagicBytes + 4)
    return damaged(file, absl::StrCat("has ", fileBytes, " bytes, fewer than any .npy file; get it again"));
  SPLITCAST_RETURN_IF_ERROR(file.readAt(0, std::min<int64_t>(fileBytes, sizeof start), start));
  if (std::memcmp(start, kMagic, kMagicBytes) != 0)
    return invalid(file, "does not begin as a .npy file does (\\x93NUMPY); write it with numpy.save");
  int major = start[6], minor = start[7];
  if (major < 1 || major > 3 || minor != 0)
    return invalid(file, absl::StrCat("has version ", major, ".", minor,
                                      " of the .npy format; 1.0, 2.0 and 3.0 are supported; write it with numpy.save"));
  int64_t lengthBytes = major == 1 ? 2 : 4, headerBytes = 0;
  dataOffset = kMagicBytes + 2 + lengthBytes;
  if (fileBytes < dataOffset)
    return damaged(file, absl::StrCat("has ", fileBytes, " bytes and ends in its header; get it again"));
  for (int64_t i = lengthBytes; i-- > 0;)
    headerBytes = headerBytes << 8 | start[kMagicBytes + 2 + i];
  if (headerBytes > fileBytes - dataOffset)
    return damaged(file, absl::StrCat("says that its header has ", headerBytes, " bytes, but only ",
                                      fileBytes - dataOffset, " follow; get it again"));
  if (headerBytes > kMaxHeaderBytes)
    return invalid(file, absl::StrCat("has a header of ", headerBytes, " bytes; at most ", kMaxHeaderBytes,
                                      " are supported; save a plain array"));
  std::string text(headerBytes, '\0');
  SPLITCAST_RETURN_IF_ERROR(file.readAt(dataOffset, headerBytes, text.data()));
  dataOffset += headerBytes;
  return text;
}

std::string describe(const std::vector<int64_t> &shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i)
    absl::StrAppend(&text, i ? ", " : "", shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

/// Returns the product of the extents and `elementBytes`, or nullopt if an
/// extent is negative or a product exceeds 2^63 - 1.
std::optional<int64_t> bytesOfShape(const std::vector<int64_t> &shape, int64_t elementBytes) {
  int64_t bytes = elementBytes;
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes))
      return std::nullopt;
  return bytes;
}

} // namespace

absl::StatusOr<NpyFile> NpyFile::open(const std::string &path) {
  SPLITCAST_ASSIGN_OR_RETURN(File opened, File::openForReading(path));
  NpyFile npy(std::move(opened));
  SPLITCAST_ASSIGN_OR_RETURN(int64_t fileBytes, npy.file.sizeBytes());
  SPLITCAST_ASSIGN_OR_RETURN(std::string text, readHeaderText(npy.file, fileBytes, npy.dataOffset));
  HeaderParser parser(text);
  std::optional<Header> header = parser.parse();
  if (!header)
    return invalid(
        npy.file, absl::StrCat("has a header that cannot be parsed: ", parser.problem(), "; write it with numpy.save"));
  SPLITCAST_ASSIGN_OR_RETURN(ElementType type, typeOf(npy.file, header->descr));
  if (header->isFortranOrder)
    return invalid(npy.file, "is in Fortran order; only C order is supported; save numpy.ascontiguousarray(array)");
  std::optional<int64_t> dataBytes = bytesOfShape(header->shape, bytesOf(type));
  int64_t found = fileBytes - npy.dataOffset;
  if (!dataBytes)
    return damaged(npy.file, absl::StrCat("says that its shape is ", describe(header->shape),
                                          ", which is more than 2^63 - 1 bytes; get it again"));
  if (*dataBytes != found)
    return damaged(npy.file, absl::StrCat(*dataBytes > found ? "is cut off: " : "is too long: ", found,
                                          " bytes follow the header, but shape ", describe(header->shape), " of '",
                                          header->descr, "' has ", *dataBytes, "; get it again"));
  npy.elementType = type;
  npy.elements = *dataBytes / bytesOf(type);
  npy.extents = std::move(header->shape);
  return npy;
}

absl::Status NpyFile::read(int64_t elementOffset, int64_t count, void *to) const {
  if (elementOffset < 0 || count < 0 || elementOffset > elements || count > elements - elementOffset)
    return invalid(file,
                   absl::StrCat(count, " elements from element ", elementOffset, " on were asked for; the array has ",
                                elements, " elements; ask for a range within it"));
  int64_t bytes = bytesOf(elementType);
  return file.readAt(dataOffset + elementOffset * bytes, count * bytes, to);
}

namespace {

/// Returns a header of version 1, padded as NumPy does, so that the data begins
/// at a multiple of 64 bytes. It has the same length for any number of rows.
std::string headerFor(ElementType type, int64_t rows, const std::vector<int64_t> &rowShape) {
  std::string descr;
  for (const TypeName &known : kTypes)
    if (known.type == type)
      descr = known.descr;
  auto dictionary = [&](int64_t leading) {
    std::vector<int64_t> shape = {leading};
    shape.insert(shape.end(), rowShape.begin(), rowShape.end());
    return absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': ", describe(shape), ", }");
  };
  constexpr size_t kStartBytes = kMagicBytes + 4, kAlignment = 64;
  size_t longest = kStartBytes + dictionary(INT64_MAX).size() + 1;
  size_t total = (longest + kAlignment - 1) / kAlignment * kAlignment, after = total - kStartBytes;
  std::string header(kMagic, kMagicBytes);
  header += {1, 0, static_cast<char>(after & 0xff), static_cast<char>(after >> 8)};
  header += dictionary(rows);
  header.resize(total - 1, ' ');
  return header + "\n";
}

} // namespace

NpyWriter::NpyWriter(PendingFile file, ElementType type, std::vector<int64_t> rowShape)
    : pending(std::move(file)), elementType(type), rowExtents(std::move(rowShape)),
      rowBytes(*bytesOfShape(rowExtents, bytesOf(type))), headerBytes(headerFor(type, 0, rowExtents).size()) {}

absl::StatusOr<NpyWriter> NpyWriter::create(const std::string &path, ElementType type, std::vector<int64_t> rowShape) {
  if (type == ElementType::BF16)
    return fileError(absl::StatusCode::kInvalidArgument, path,
                     "cannot hold bf16, which NumPy does not have; convert to f32 first");
  constexpr size_t kMaxRowRank = 63; // NumPy's own limit is 64 dimensions
  if (rowShape.size() > kMaxRowRank || !bytesOfShape(rowShape, bytesOf(type)))
    return fileError(absl::StatusCode::kInvalidArgument, path,
                     absl::StrCat("cannot hold rows of shape ", describe(rowShape),
                                  "; at most 63 extents of at least 0 with less than 2^63 bytes are allowed"));
  SPLITCAST_ASSIGN_OR_RETURN(PendingFile file, PendingFile::create(path));
  return NpyWriter(std::move(file), type, std::move(rowShape));
}

absl::Status NpyWriter::checkRows(int64_t rows) const {
  SPLITCAST_RETURN_IF_ERROR(pending.checkPending());
  int64_t total, bytes;
  if (rows < 0 || __builtin_add_overflow(writtenRows, rows, &total) ||
      __builtin_mul_overflow(total, rowBytes, &bytes) || bytes > INT64_MAX - headerBytes)
    return fileError(absl::StatusCode::kInvalidArgument, pending.path(),
                     absl::StrCat("cannot append ", rows, " rows to ", writtenRows,
                                  "; at least 0 rows and less than 2^63 bytes in all are allowed"));
  return absl::OkStatus();
}

absl::Status NpyWriter::append(int64_t rows, const void *from) {
  absl::Status status = checkRows(rows);
  if (status.ok())
    status = pending.file().writeAt(headerBytes + writtenRows * rowBytes, rows * rowBytes, from);
  if (status.ok())
    writtenRows += rows;
  return status;
}

absl::Status NpyWriter::writePart(int64_t at, int64_t count, const void *from) {
  SPLITCAST_RETURN_IF_ERROR(checkRows(1));
  const int64_t elementBytes = bytesOf(elementType), elements = rowBytes / elementBytes;
  if (at < 0 || count < 0 || at > elements || count > elements - at)
    return fileError(absl::StatusCode::kInvalidArgument, pending.path(),
                     absl::StrCat("cannot write ", count, " elements of a row from element ", at, " on; a row has ",
                                  elements, "; write a range within it"));
  return pending.file().writeAt(headerBytes + writtenRows * rowBytes + at * elementBytes, count * elementBytes, from);
}

absl::Status NpyWriter::endRow() {
  absl::Status status = checkRows(1);
  writtenRows += status.ok();
  return status;
}

absl::Status NpyWriter::commit() {
  SPLITCAST_RETURN_IF_ERROR(pending.checkPending());
  std::string header = headerFor(elementType, writtenRows, rowExtents);
  SPLITCAST_RETURN_IF_ERROR(pending.file().writeAt(0, headerBytes, header.data()));
  // A failed append may have left bytes behind the last complete row.
  SPLITCAST_RETURN_IF_ERROR(pending.file().resize(headerBytes + writtenRows * rowBytes));
  return pending.commit();
}

} // namespace splitcast::runtime
