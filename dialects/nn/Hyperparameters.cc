#include "dialects/nn/Hyperparameters.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace splitcast {

bool contains(Bounds bounds, double number) {
  if (!std::isfinite(number))
    return false;
  const bool isWhole = number == std::floor(number) && number <= 0x1p53;
  switch (bounds) {
  case Bounds::Number:
    return true;
  case Bounds::NotNegative:
    return number >= 0;
  case Bounds::Positive:
    return number > 0;
  case Bounds::BelowOne:
    return number >= 0 && number < 1;
  case Bounds::UpToOne:
    return number >= 0 && number <= 1;
  case Bounds::Count:
    return isWhole && number >= 1;
  case Bounds::CountOrNone:
    return isWhole && number >= 0;
  case Bounds::CountToHundred:
    return isWhole && number >= 1 && number <= 100;
  case Bounds::PowerOfTwo: {
    int exponent = 0;
    return std::frexp(number, &exponent) == 0.5 && number >= 0x1p-126 && number <= 0x1p126;
  }
  case Bounds::Flag:
    return number == 0 || number == 1;
  }
  return false;
}

std::string_view toString(Bounds bounds) {
  switch (bounds) {
  case Bounds::Number:
    return "a finite number";
  case Bounds::NotNegative:
    return "a finite number of at least 0";
  case Bounds::Positive:
    return "a finite number above 0";
  case Bounds::BelowOne:
    return "a number of at least 0 and less than 1";
  case Bounds::UpToOne:
    return "a number of at least 0 and at most 1";
  case Bounds::Count:
    return "a whole number of at least 1 and at most 2^53";
  case Bounds::CountOrNone:
    return "a whole number of at least 0 and at most 2^53";
  case Bounds::CountToHundred:
    return "a whole number from 1 to 100";
  case Bounds::PowerOfTwo:
    return "a power of 2 from 2^-126 to 2^126";
  case Bounds::Flag:
    return "0 or 1";
  }
  return "";
}

std::vector<double> Hyperparameters::values() const {
  std::vector<double> result;
  for (const Hyperparameter &number : numbers())
    result.push_back(number.value);
  return result;
}

std::optional<std::string> Hyperparameters::wrong() const {
  for (const Hyperparameter &number : numbers()) {
    if (contains(number.bounds, number.value))
      continue;
    std::ostringstream text;
    text << name() << " has " << number.name << " = " << number.value << "; it must be " << toString(number.bounds);
    return text.str();
  }
  return std::nullopt;
}

/// Returns the number that the whole text denotes; nothing if it is none, or so
/// small that an f64 rounds it to 0.
static std::optional<double> numberOf(const std::string &text) {
  std::istringstream stream(text);
  double number = 0;
  if (!(stream >> number) || stream.peek() != std::istringstream::traits_type::eof())
    return std::nullopt;
  const bool isSaidZero = text.find_first_of("123456789") >= text.find_first_of("eE");
  return number == 0 && !isSaidZero ? std::nullopt : std::optional(number);
}

std::optional<std::string> Hyperparameters::parse(std::string_view text) {
  if (!text.empty() && text.back() == ',')
    return "'" + std::string(text) + "' ends in a comma; write NUMBER=X behind it, or leave it out";
  const std::vector<Hyperparameter> known = numbers();
  std::vector<double> values = this->values();
  std::vector<bool> isSaid(known.size());
  std::istringstream parts{std::string(text)};
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    const std::string said = part.substr(0, equals);
    std::string key = said;
    std::replace(key.begin(), key.end(), '-', '_');
    auto found = std::find_if(known.begin(), known.end(), [&](const Hyperparameter &n) { return n.name == key; });
    if (found == known.end())
      return unknown(key);
    const size_t index = found - known.begin();
    if (isSaid[index])
      return std::string(name()) + " says " + key + " twice";
    isSaid[index] = true;
    std::optional<double> number = numberOf(equals == std::string::npos ? "" : part.substr(equals + 1));
    if (!number) {
      std::ostringstream text;
      text << "'" << part << "' gives " << name() << " no " << said << "; write " << said << "=NUMBER, "
           << toString(found->bounds);
      return text.str();
    }
    values[index] = *number;
  }
  if (!known.empty() && !isSaid.front())
    return std::string(name()) + " needs " + known.front().name + "; write " + known.front().name + "=NUMBER";
  set(values);
  return wrong();
}

std::string Hyperparameters::unknown(std::string_view number) const {
  std::string names;
  for (const Hyperparameter &known : numbers())
    names += (names.empty() ? "" : ", ") + known.name;
  return std::string(name()) + " has no '" + std::string(number) + "'; it has " + names;
}

} // namespace splitcast
