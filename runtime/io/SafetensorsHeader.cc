#include "runtime/io/SafetensorsHeader.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace splitcast::runtime {

using Json = nlohmann::json;

namespace {

constexpr char kMetadata[] = "__metadata__";

struct Dtype {
  const char *name;
  int64_t bytes;
  std::optional<ElementType> type;
};

/// The types of the format that have whole bytes. Those without an ElementType
/// are skipped.
const Dtype kDtypes[] = {{"F64", 8, ElementType::F64},
                         {"F32", 4, ElementType::F32},
                         {"F16", 2, ElementType::F16},
                         {"BF16", 2, ElementType::BF16},
                         {"I64", 8, ElementType::I64},
                         {"I32", 4, ElementType::I32},
                         {"I8", 1, ElementType::I8},
                         {"BOOL", 1, ElementType::I1},
                         {"I16", 2, {}},
                         {"U8", 1, {}},
                         {"U16", 2, {}},
                         {"U32", 4, {}},
                         {"U64", 8, {}},
                         {"F8_E4M3", 1, {}},
                         {"F8_E5M2", 1, {}},
                         {"F8_E8M0", 1, {}},
                         {"C64", 8, {}}};

const Dtype *findDtype(const std::string &name) {
  for (const Dtype &dtype : kDtypes)
    if (name == dtype.name)
      return &dtype;
  return nullptr;
}

absl::Status invalid(const std::string &text) { return absl::InvalidArgumentError(text); }

/// Returns the product of the extents and `factor`, or nullopt if an extent is
/// negative or a product exceeds 2^63 - 1.
std::optional<int64_t> product(const std::vector<int64_t> &shape, int64_t factor) {
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(factor, extent, &factor))
      return std::nullopt;
  return factor;
}

std::string describe(const std::vector<int64_t> &shape) { return Json(shape).dump(); }

constexpr absl::string_view kMembers[] = {"dtype", "shape", "data_offsets"};

/// What a header says of a tensor.
struct Entry {
  std::string name;
  int members = 0;              ///< those of kMembers that it has: bit i stands for the i-th
  std::set<std::string> others; ///< the names of further members, none of which is allowed
  std::string dtype;            ///< the name, or what it is instead
  bool isNamed = false;         ///< whether the dtype is a text
  /// Nothing if the value is not a list of numbers from 0 to 2^63 - 1.
  std::optional<std::vector<int64_t>> shape, offsets;
};

/// Returns the tensor. `begin` of the result counts from the start of the data.
absl::StatusOr<StoredTensor> tensorOf(Entry entry) {
  auto wrong = [&](const std::string &text) { return invalid(absl::StrCat("tensor '", entry.name, "' ", text)); };
  if (entry.members != (1 << std::size(kMembers)) - 1 || !entry.others.empty())
    return wrong("is not an object of exactly dtype, shape and data_offsets");
  StoredTensor tensor;
  const Dtype *known = entry.isNamed ? findDtype(entry.dtype) : nullptr;
  if (!known)
    return wrong(absl::StrCat(
        "has dtype ", entry.isNamed ? Json(entry.dtype).dump() : entry.dtype,
        "; F64, F32, F16, BF16, I64, I32, I8 and BOOL are supported, and other types of whole bytes are skipped"));
  tensor.dtype = known->name;
  tensor.type = known->type;
  if (!entry.shape)
    return wrong("has a shape that is not a list of extents of at least 0");
  tensor.shape = *std::move(entry.shape);
  if (!entry.offsets || entry.offsets->size() != 2 || entry.offsets->front() > entry.offsets->back())
    return wrong("has data_offsets that are not [begin, end] with 0 <= begin <= end");
  tensor.begin = entry.offsets->front();
  tensor.bytes = entry.offsets->back() - tensor.begin;
  std::optional<int64_t> bytes = product(tensor.shape, known->bytes);
  if (!bytes || *bytes != tensor.bytes)
    return wrong(absl::StrCat("has ", tensor.bytes, " bytes by its data_offsets, but shape ", describe(tensor.shape),
                              " of ", tensor.dtype, " has ", bytes ? absl::StrCat(*bytes) : "more than 2^63 - 1"));
  tensor.elements = *bytes / known->bytes;
  tensor.name = std::move(entry.name);
  return tensor;
}

/// Reads a header in one pass, as its values come: a tree of them would take
/// several times as long and as much memory.
class HeaderReader final : public nlohmann::json_sax<Json> {
public:
  explicit HeaderReader(SafetensorsLayout &layout) : layout(layout) {}
  absl::Status problem = invalid("it is not JSON");

  bool null() override { return other("null", "null"); }
  bool boolean(bool value) override { return other("boolean", value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return other("number", absl::StrCat(value)); }
  bool number_float(number_float_t, const string_t &text) override { return other("number", text); }
  bool binary(binary_t &) override { return other("binary", "binary"); }
  bool start_array(std::size_t) override { return open("array"); }
  bool end_array() override { return close(); }
  bool start_object(std::size_t) override { return open("object"); }
  bool end_object() override { return close(); }
  bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &) override { return false; }

  bool number_unsigned(number_unsigned_t value) override {
    if (depth < 3 || value > static_cast<uint64_t>(INT64_MAX))
      return other("number", absl::StrCat(value));
    if (numbers)
      numbers->push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(string_t &value) override {
    if (depth == 2 && isMetadata) {
      *metadata = std::move(value);
      return true;
    }
    if (depth == 2 && lastName == "dtype") {
      entry.dtype = std::move(value);
      entry.isNamed = true;
      return true;
    }
    return other("string", Json(value).dump());
  }

  bool key(string_t &name) override {
    lastName = std::move(name);
    if (depth == 1)
      return begin();
    // Objects of depth 3 are part of no legal header, so their names are not looked at.
    return depth == 3 || (isMetadata ? beginText() : beginMember()) ||
           refuse(absl::StrCat("it has the name '", lastName, "' twice"));
  }

private:
  bool refuse(const std::string &text) {
    problem = invalid(text);
    return false;
  }

  /// Begins a member of the header.
  bool begin() {
    isMetadata = lastName == kMetadata;
    if (isMetadata && hasMetadata)
      return refuse("it has the name '__metadata__' twice");
    hasMetadata |= isMetadata;
    entry = Entry();
    entry.name = lastName;
    return true;
  }

  /// Begin a text of the metadata, or a member of a tensor; false if it has been there before.
  bool beginText() {
    const auto [place, isNew] = layout.metadata.try_emplace(lastName);
    metadata = &place->second;
    return isNew;
  }
  bool beginMember() {
    const auto *known = std::find(std::begin(kMembers), std::end(kMembers), lastName);
    if (known == std::end(kMembers))
      return entry.others.insert(lastName).second;
    const int bit = 1 << (known - std::begin(kMembers));
    const bool isNew = (entry.members & bit) == 0;
    entry.members |= bit;
    return isNew;
  }

  /// Takes a value that is of no use where it is, of this JSON type, with this text.
  bool other(const char *type, const std::string &text) {
    if (depth == 1 && isMetadata)
      return refuse(absl::StrCat("'__metadata__' is a JSON ", type, "; an object of strings is needed"));
    if (depth == 1)
      return finish();
    if (isMetadata)
      return refuse(absl::StrCat("'", lastName, "' in '__metadata__' is a JSON ", type, "; only strings are allowed"));
    if (depth == 2 && lastName == "dtype")
      entry.dtype = text;
    if (depth == 3 && numbers)
      areNumbers = false;
    return true;
  }

  bool open(const char *type) {
    const bool isTensor = depth == 1 && !isMetadata && type == absl::string_view("object");
    const bool isNotObject = depth == 1 && type != absl::string_view("object");
    if (depth == 3)
      return refuse("its values are nested more than three deep");
    if ((isNotObject || (depth == 2 && isMetadata)) && !other(type, type))
      return false;
    if (depth == 2 && !isMetadata)
      openList(type);
    hasEntry = depth == 1 ? isTensor : hasEntry;
    ++depth;
    return true;
  }

  /// Begins a list of numbers, if this is the place of one.
  void openList(const char *type) {
    (void)other(type, absl::StrCat("of the JSON type ", type));
    numbers = nullptr;
    areNumbers = type == absl::string_view("array");
    std::optional<std::vector<int64_t>> *list = lastName == "shape"          ? &entry.shape
                                                : lastName == "data_offsets" ? &entry.offsets
                                                                             : nullptr;
    if (list && areNumbers)
      numbers = &list->emplace();
  }

  bool close() {
    --depth;
    if (depth == 2 && numbers && !areNumbers)
      (lastName == "shape" ? entry.shape : entry.offsets).reset();
    if (depth == 2)
      numbers = nullptr;
    return depth != 1 || !hasEntry || finish();
  }

  /// Ends a member that is a tensor, or should be one.
  bool finish() {
    hasEntry = false;
    absl::StatusOr<StoredTensor> tensor = tensorOf(std::move(entry));
    if (!tensor.ok()) {
      problem = tensor.status();
      return false;
    }
    layout.tensors.push_back(*std::move(tensor));
    return true;
  }

  SafetensorsLayout &layout;
  int depth = 0;                           ///< how many objects and arrays are open
  std::string lastName;                    ///< the last name
  std::string *metadata = nullptr;         ///< the text that comes next, within the metadata
  bool isMetadata = false;                 ///< whether the member of the header is the metadata
  bool hasMetadata = false;                ///< whether the header has had metadata
  bool hasEntry = false;                   ///< whether the object of a tensor is open
  Entry entry;                             ///< of the member of the header, if it is a tensor
  std::vector<int64_t> *numbers = nullptr; ///< the list that is open
  bool areNumbers = false;                 ///< whether it has had nothing but numbers
};

/// Sorts the tensors by name, of which each must have its own.
absl::Status sortByName(std::vector<StoredTensor> &tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const StoredTensor &a, const StoredTensor &b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(tensors.begin(), tensors.end(),
                                        [](const StoredTensor &a, const StoredTensor &b) { return a.name == b.name; });
  return twice == tensors.end() ? absl::OkStatus() : invalid(absl::StrCat("it has the name '", twice->name, "' twice"));
}

/// Checks that the tensors, in the order of their bytes, cover [0, dataBytes)
/// without gaps and overlaps.
absl::Status checkCover(const std::vector<StoredTensor> &tensors, int64_t dataBytes) {
  std::vector<const StoredTensor *> order;
  for (const StoredTensor &tensor : tensors)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const StoredTensor *a, const StoredTensor *b) {
    return std::make_pair(a->begin, a->bytes) < std::make_pair(b->begin, b->bytes);
  });
  int64_t end = 0;
  for (const StoredTensor *tensor : order) {
    if (tensor->begin != end)
      return invalid(absl::StrCat("tensor '", tensor->name, "' begins at byte ", tensor->begin,
                                  " of the data, but the tensors before it end at byte ", end,
                                  "; gaps and overlaps are not allowed"));
    end += tensor->bytes;
  }
  if (end != dataBytes)
    return invalid(absl::StrCat(end > dataBytes ? "the file is cut off: " : "the file is too long: ", dataBytes,
                                " bytes follow the header, but the tensors have ", end));
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<SafetensorsLayout> parseSafetensorsHeader(const std::string &text, int64_t fileBytes) {
  SafetensorsLayout layout;
  layout.fileBytes = fileBytes;
  layout.dataBegin = kSafetensorsLengthBytes + static_cast<int64_t>(text.size());
  if (text.empty() || text[0] != '{')
    return invalid("it does not begin with '{'");
  HeaderReader reader(layout);
  if (!Json::sax_parse(text, &reader))
    return reader.problem;
  SPLITCAST_RETURN_IF_ERROR(sortByName(layout.tensors));
  SPLITCAST_RETURN_IF_ERROR(checkCover(layout.tensors, fileBytes - layout.dataBegin));
  for (StoredTensor &tensor : layout.tensors)
    tensor.begin += layout.dataBegin;
  return layout;
}

namespace {

/// Returns whether the text is UTF-8, which JSON requires. Bad bytes are
/// dropped by dumping, and then found by parsing the result.
bool isUtf8(const std::string &text) {
  std::string dumped = Json(text).dump(-1, ' ', false, Json::error_handler_t::ignore);
  return Json::parse(dumped, nullptr, false) == text;
}

const Dtype *dtypeOf(const StoredTensor &tensor) {
  for (const Dtype &dtype : kDtypes)
    if (tensor.type && dtype.type == tensor.type)
      return &dtype;
  return nullptr;
}

/// Gives every tensor its place, in the order of names; `begin` counts from the
/// start of the data. Returns the bytes of all tensors.
absl::StatusOr<int64_t> placeTensors(std::vector<StoredTensor> &tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const StoredTensor &a, const StoredTensor &b) { return a.name < b.name; });
  int64_t end = 0;
  const std::string *last = nullptr;
  for (StoredTensor &tensor : tensors) {
    auto wrong = [&](const std::string &text) { return invalid(absl::StrCat("tensor '", tensor.name, "' ", text)); };
    if (last && *last == tensor.name)
      return wrong("is given twice; give every tensor a name of its own");
    last = &tensor.name;
    if (tensor.name == kMetadata || !isUtf8(tensor.name))
      return wrong("has a name that the format does not allow; use UTF-8 other than '__metadata__'");
    const Dtype *dtype = dtypeOf(tensor);
    if (!dtype)
      return wrong("has no element type; give it one");
    std::optional<int64_t> bytes = product(tensor.shape, dtype->bytes);
    if (!bytes || *bytes > INT64_MAX - kMaxSafetensorsHeaderBytes - 64 - end)
      return wrong(absl::StrCat("has shape ", describe(tensor.shape),
                                "; extents of at least 0 and less than 2^63 bytes in all are allowed"));
    tensor.dtype = dtype->name;
    tensor.elements = *bytes / dtype->bytes;
    tensor.begin = end;
    tensor.bytes = *bytes;
    end += *bytes;
  }
  return end;
}

} // namespace

absl::StatusOr<std::string> layOutSafetensors(SafetensorsLayout &layout) {
  SPLITCAST_ASSIGN_OR_RETURN(int64_t dataBytes, placeTensors(layout.tensors));
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto &[name, value] : layout.metadata) {
    if (!isUtf8(name) || !isUtf8(value))
      return invalid(absl::StrCat("metadata '", name, "' is not UTF-8; only UTF-8 is allowed"));
    json[kMetadata][name] = value;
  }
  // The tensors are appended as text: operator[] of the ordered object would
  // search it for every tensor.
  std::string header = json.dump();
  header.pop_back();
  for (const StoredTensor &tensor : layout.tensors)
    absl::StrAppend(&header, header.size() > 1 ? "," : "", Json(tensor.name).dump(), ":{\"dtype\":\"", tensor.dtype,
                    "\",\"shape\":", describe(tensor.shape), ",\"data_offsets\":[", tensor.begin, ",",
                    tensor.begin + tensor.bytes, "]}");
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  int64_t headerBytes = header.size();
  if (headerBytes > kMaxSafetensorsHeaderBytes)
    return invalid(absl::StrCat("the header would have ", headerBytes, " bytes; at most ", kMaxSafetensorsHeaderBytes,
                                " are allowed; write fewer tensors to a file"));
  layout.dataBegin = kSafetensorsLengthBytes + headerBytes;
  layout.fileBytes = layout.dataBegin + dataBytes;
  for (StoredTensor &tensor : layout.tensors)
    tensor.begin += layout.dataBegin;
  std::string length(kSafetensorsLengthBytes, '\0');
  for (int64_t i = 0; i < kSafetensorsLengthBytes; ++i)
    length[i] = static_cast<char>(headerBytes >> 8 * i & 0xff);
  return length + header;
}

} // namespace splitcast::runtime
