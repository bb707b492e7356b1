#include "tests/differential/BoxingModule.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace splitcast::differential {

namespace {

bool hasCoordinate(const sbp::NdSbp &signature) {
  return std::any_of(signature.begin(), signature.end(), [](const sbp::Sbp &entry) { return entry.isAt(); });
}

/// As a function may take or return it: B for what is at a coordinate.
sbp::NdSbp atTheBorder(sbp::NdSbp signature) {
  for (sbp::Sbp &entry : signature)
    if (entry.isAt())
      entry = sbp::Sbp::broadcast();
  return signature;
}

/// Of the argument whose sum over its first dimension is as `from`: what is P of the sum has a part of that dimension.
sbp::NdSbp argumentOf(const sbp::NdSbp &from) {
  sbp::NdSbp argument;
  for (const sbp::Sbp &entry : from)
    argument.push_back(entry.isPartial() ? sbp::Sbp::split(0)
                       : entry.isSplit() ? sbp::Sbp::split(entry.dim + 1)
                                         : entry);
  return argument;
}

/// "  %y = sbp.boxing %x : ..."
std::string boxingText(const std::string &result, const std::string &operand, const std::string &from,
                       const std::string &to) {
  return absl::StrCat("  ", result, " = sbp.boxing ", operand, " : ", from, " -> ", to, "\n");
}

std::string typeText(const sbp::Shape &shape, const sbp::NdSbp &signature) {
  return absl::StrCat("tensor<", absl::StrJoin(shape, "x"), shape.empty() ? "" : "x", "f32, #sbp.nd<#p, ",
                      sbp::toString(signature), ">>");
}

} // namespace

std::string BoxingPair::text() const { return absl::StrCat(sbp::toString(from), " to ", sbp::toString(to)); }

sbp::Shape BoxingModule::argumentShape() const {
  sbp::Shape whole = shape;
  whole.insert(whole.begin(), kAddends);
  return whole;
}

std::vector<sbp::NdSbp> BoxingModule::signatures(bool withPartial) const {
  std::vector<sbp::NdSbp> all = {{}};
  for (int64_t size : mesh) {
    std::vector<sbp::Sbp> entries = {sbp::Sbp::broadcast()};
    for (size_t dim = 0; dim < shape.size(); ++dim)
      entries.push_back(sbp::Sbp::split(static_cast<int64_t>(dim)));
    if (withPartial)
      entries.push_back(sbp::Sbp::partial());
    if (withCoordinates)
      entries.insert(entries.end(), {sbp::Sbp::at(0), sbp::Sbp::at(size - 1)});
    std::vector<sbp::NdSbp> longer;
    for (const sbp::NdSbp &before : all)
      for (const sbp::Sbp &entry : entries) {
        longer.push_back(before);
        longer.back().push_back(entry);
      }
    all = std::move(longer);
  }
  return all;
}

std::vector<BoxingPair> BoxingModule::allPairs() const {
  std::vector<BoxingPair> pairs;
  for (const sbp::NdSbp &from : signatures(/*withPartial=*/true))
    for (const sbp::NdSbp &to : signatures(/*withPartial=*/false))
      if (from != to && (!withCoordinates || hasCoordinate(from) || hasCoordinate(to)))
        pairs.push_back({from, to});
  return pairs;
}

std::string BoxingModule::functions(const std::vector<BoxingPair> &pairs) const {
  std::string text = placementText();
  for (size_t i = 0; i < pairs.size(); ++i)
    absl::StrAppend(&text, "func.func @f", i, "(%x", i, ": ", argumentType(pairs[i]), ") -> ", resultType(pairs[i]),
                    " {\n", ops(pairs[i], i), "  return %z", i, " : ", resultType(pairs[i]), "\n}\n");
  return text;
}

std::string BoxingModule::oneFunction(const std::vector<BoxingPair> &pairs) const {
  std::string body;
  std::vector<std::string> arguments, values, types;
  for (size_t i = 0; i < pairs.size(); ++i) {
    arguments.push_back(absl::StrCat("%x", i, ": ", argumentType(pairs[i])));
    values.push_back(absl::StrCat("%z", i));
    types.push_back(resultType(pairs[i]));
    absl::StrAppend(&body, ops(pairs[i], i));
  }
  const std::string results = absl::StrJoin(types, ", ");
  return absl::StrCat(placementText(), "func.func @boxings(", absl::StrJoin(arguments, ", "), ") -> (", results,
                      ") {\n", body, "  return ", absl::StrJoin(values, ", "), " : ", results, "\n}\n");
}

std::string BoxingModule::placementText() const {
  std::vector<std::string> axes;
  for (size_t axis = 0; axis < mesh.size(); ++axis)
    axes.push_back(absl::StrCat("a", axis, " = ", mesh[axis]));
  return absl::StrCat("#p = #sbp.placement<\"cpu\", [", absl::StrJoin(axes, ", "), "]>\n");
}

std::string BoxingModule::argumentType(const BoxingPair &pair) const {
  return typeText(argumentShape(), atTheBorder(argumentOf(pair.from)));
}

std::string BoxingModule::resultType(const BoxingPair &pair) const { return typeText(shape, atTheBorder(pair.to)); }

std::string BoxingModule::ops(const BoxingPair &pair, size_t number) const {
  const std::string sum = typeText(shape, pair.from), to = typeText(shape, pair.to),
                    addends = typeText(argumentShape(), argumentOf(pair.from));
  const auto name = [&](const char *letter) { return absl::StrCat("%", letter, number); };
  const bool placesFirst = hasCoordinate(pair.from), gathersLast = hasCoordinate(pair.to);
  std::string text;
  if (placesFirst)
    text += boxingText(name("w"), name("x"), argumentType(pair), addends);
  absl::StrAppend(&text, "  ", name("y"), " = nn.reduce_sum ", name(placesFirst ? "w" : "x"),
                  " {dims = array<i64: 0>} : (", addends, ") -> ", sum, "\n");
  text += boxingText(name(gathersLast ? "v" : "z"), name("y"), sum, to);
  // With an op between, or the two boxings would be one. Addends are not negative.
  if (gathersLast)
    absl::StrAppend(&text, "  ", name("u"), " = nn.relu ", name("v"), " : (", to, ") -> ", to, "\n",
                    boxingText(name("z"), name("u"), to, resultType(pair)));
  return text;
}

} // namespace splitcast::differential
