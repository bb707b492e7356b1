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

bool isSize(const Json &value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
}

/// Returns the product of the extents and `factor`, or nullopt if an extent is
/// negative or a product exceeds 2^63 - 1.
std::optional<int64_t> product(const std::vector<int64_t> &shape, int64_t factor) {
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(factor, extent, &factor))
      return std::nullopt;
  return factor;
}

std::string describe(const std::vector<int64_t> &shape) { return Json(shape).dump(); }

/// Refuses objects that have a name twice (of which the parser alone would keep the last) and values that are nested
/// deeper than a header needs. (The parser's callback could do this, but it looks through all of an object's members
/// whenever one of them ends.)
class StrictReader final : public nlohmann::json_sax<Json> {
public:
  std::string problem;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &) override {
    problem = "it is not JSON";
    return false;
  }
  bool key(string_t &name) override {
    if (names.back().insert(name).second)
      return true;
    problem = absl::StrCat("it has the name '", name, "' twice");
    return false;
  }

private:
  bool open() {
    constexpr size_t kMostLevels = 3;
    if (names.size() == kMostLevels) {
      problem = "its values are nested more than three deep";
      return false;
    }
    names.emplace_back();
    return true;
  }
  bool close() {
    names.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> names; ///< of the objects and arrays that are open
};

absl::StatusOr<Json> parseStrict(const std::string &text) {
  StrictReader reader;
  if (!Json::sax_parse(text, &reader))
    return invalid(reader.problem);
  Json json = Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return invalid(absl::StrCat("it is a JSON ", json.type_name(), "; an object is needed"));
  return json;
}

absl::StatusOr<std::map<std::string, std::string>> parseMetadata(const Json &json) {
  std::map<std::string, std::string> metadata;
  if (!json.is_object())
    return invalid(absl::StrCat("'__metadata__' is a JSON ", json.type_name(), "; an object of strings is needed"));
  for (const auto &[name, value] : json.items()) {
    if (!value.is_string())
      return invalid(
          absl::StrCat("'", name, "' in '__metadata__' is a JSON ", value.type_name(), "; only strings are allowed"));
    metadata[name] = value.get<std::string>();
  }
  return metadata;
}

/// Parses the entry of a tensor. `begin` of the result counts from the start of
/// the data.
absl::StatusOr<StoredTensor> parseTensor(const std::string &name, const Json &json) {
  auto wrong = [&](const std::string &text) { return invalid(absl::StrCat("tensor '", name, "' ", text)); };
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets"))
    return wrong("is not an object of exactly dtype, shape and data_offsets");
  const Json &dtype = json["dtype"], &shape = json["shape"], &offsets = json["data_offsets"];
  StoredTensor tensor;
  tensor.name = name;
  const Dtype *known = dtype.is_string() ? findDtype(dtype.get<std::string>()) : nullptr;
  if (!known)
    return wrong(absl::StrCat(
        "has dtype ", dtype.dump(),
        "; F64, F32, F16, BF16, I64, I32, I8 and BOOL are supported, and other types of whole bytes are skipped"));
  tensor.dtype = known->name;
  tensor.type = known->type;
  if (!shape.is_array() || !std::all_of(shape.begin(), shape.end(), isSize))
    return wrong("has a shape that is not a list of extents of at least 0");
  tensor.shape = shape.get<std::vector<int64_t>>();
  if (!offsets.is_array() || offsets.size() != 2 || !isSize(offsets[0]) || !isSize(offsets[1]) ||
      offsets[0].get<int64_t>() > offsets[1].get<int64_t>())
    return wrong("has data_offsets that are not [begin, end] with 0 <= begin <= end");
  tensor.begin = offsets[0].get<int64_t>();
  tensor.bytes = offsets[1].get<int64_t>() - tensor.begin;
  std::optional<int64_t> bytes = product(tensor.shape, known->bytes);
  if (!bytes || *bytes != tensor.bytes)
    return wrong(absl::StrCat("has ", tensor.bytes, " bytes by its data_offsets, but shape ", describe(tensor.shape),
                              " of ", tensor.dtype, " has ", bytes ? absl::StrCat(*bytes) : "more than 2^63 - 1"));
  tensor.elements = *bytes / known->bytes;
  return tensor;
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
  SPLITCAST_ASSIGN_OR_RETURN(Json json, parseStrict(text));
  for (const auto &[name, value] : json.items()) {
    if (name == kMetadata) {
      SPLITCAST_ASSIGN_OR_RETURN(layout.metadata, parseMetadata(value));
      continue;
    }
    SPLITCAST_ASSIGN_OR_RETURN(StoredTensor tensor, parseTensor(name, value));
    layout.tensors.push_back(std::move(tensor));
  }
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
