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
    return "a whole number of at least 1";
  case Bounds::CountOrNone:
    return "a whole number of at least 0";
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

std::optional<std::string> Hyperparameters::parse(std::string_view text) {
  const std::vector<Hyperparameter> known = numbers();
  std::vector<double> values = this->values();
  std::vector<bool> isSaid(known.size());
  std::istringstream parts{std::string(text)};
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    std::string key = part.substr(0, equals);
    std::replace(key.begin(), key.end(), '-', '_');
    auto found = std::find_if(known.begin(), known.end(), [&](const Hyperparameter &n) { return n.name == key; });
    if (found == known.end())
      return unknown(key);
    const size_t index = found - known.begin();
    if (isSaid[index])
      return std::string(name()) + " says " + key + " twice";
    isSaid[index] = true;
    std::istringstream number(equals == std::string::npos ? "" : part.substr(equals + 1));
    if (!(number >> values[index]) || number.peek() != std::istringstream::traits_type::eof()) {
      std::ostringstream text;
      text << "'" << part << "' gives " << name() << " no " << key << "; write " << key << "=NUMBER, "
           << toString(found->bounds);
      return text.str();
    }
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
