//===- Hyperparameters.h - Structs of a name and numbers ------------------------===//
//
// An optimizer or a schedule of the learning rate is a struct of numbers with its formula (Optimizers.h,
// RateSchedules.h). This file makes such a struct known by its name, to the IR (`#nn.adam<lr = 0.001, ...>`), to flags
// ("adam,lr=0.001") and to C++ (`Adam{1e-3}`). The struct itself names its numbers:
//
//   struct Adam {
//     double lr;                                  // first, and never left out
//     double beta1 = 0.9;
//     static constexpr std::string_view kName = "adam";
//     template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
//       each("lr", self.lr, Bounds::NotNegative);
//       each("beta1", self.beta1, Bounds::BelowOne);
//     }
//   };
#ifndef SPLITCAST_DIALECTS_NN_HYPERPARAMETERS_H
#define SPLITCAST_DIALECTS_NN_HYPERPARAMETERS_H

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace splitcast {

/// The numbers that a hyperparameter may be. NaN and infinities are never allowed.
enum class Bounds {
  Number,         ///< any
  NotNegative,    ///< at least 0
  Positive,       ///< more than 0
  BelowOne,       ///< at least 0 and less than 1
  UpToOne,        ///< at least 0 and at most 1
  Count,          ///< a whole number, at least 1
  CountOrNone,    ///< a whole number, at least 0
  CountToHundred, ///< a whole number from 1 to 100: how often a part of the formula is repeated in the IR
  PowerOfTwo,     ///< 2^n, n from -126 to 126, so that its inverse is one, too
  Flag,           ///< 0 (no) or 1 (yes)
};
bool contains(Bounds bounds, double number);
/// Returns a text such as "a number of at least 0 and less than 1".
std::string_view toString(Bounds bounds);

struct Hyperparameter {
  std::string name; ///< as in the IR: weight_decay
  double value;
  Bounds bounds;
};

/// The interface of a struct of numbers with a name. The classes between this one and HyperparametersOf add the
/// formula.
class Hyperparameters {
public:
  virtual ~Hyperparameters() = default;
  virtual std::string_view name() const = 0;
  virtual std::vector<Hyperparameter> numbers() const = 0;
  /// Sets all numbers. Requires as many values as numbers() has.
  virtual void set(const std::vector<double> &values) = 0;

  std::vector<double> values() const;
  /// Returns what is wrong with the numbers, and what is allowed; or nothing.
  virtual std::optional<std::string> wrong() const;
  /// Returns a message such as "adam has no 'rate'; it has lr, beta1, ...".
  std::string unknown(std::string_view number) const;
  /// Sets the numbers of a text such as "lr=0.1,weight-decay=0.5". The others keep their values, but the first number
  /// must not be left out. Returns an error or nothing.
  std::optional<std::string> parse(std::string_view text);
};

/// Implements `Base` with the numbers of `T`.
template <typename T, typename Base> class HyperparametersOf : public Base {
public:
  explicit HyperparametersOf(const T &held) : held(held) {}

  std::string_view name() const override { return T::kName; }
  std::vector<Hyperparameter> numbers() const override {
    std::vector<Hyperparameter> result;
    T::numbers(held, [&](std::string_view name, double value, Bounds bounds) {
      result.push_back({std::string(name), value, bounds});
    });
    return result;
  }
  void set(const std::vector<double> &values) override {
    size_t next = 0;
    T::numbers(held, [&](std::string_view, double &value, Bounds) { value = values[next++]; });
  }

protected:
  T held;
};

/// Returns an identity of the struct, which does not depend on its name.
template <typename T> const void *identityOf() {
  static char identity;
  return &identity;
}

/// A registry of structs by name.
template <typename Base> class HyperparameterNames {
public:
  /// Adds a struct. If another one has its name already, it is not added: see isAnothers().
  template <typename Concrete, typename T> void add() {
    std::lock_guard<std::mutex> lock(*mutex);
    known.emplace(T::kName, Known{identityOf<T>(), [] { return std::unique_ptr<Base>(new Concrete(T{})); }});
  }
  /// Whether T's name belongs to another struct.
  template <typename T> bool isAnothers() const {
    std::lock_guard<std::mutex> lock(*mutex);
    auto found = known.find(T::kName);
    return found != known.end() && found->second.identity != identityOf<T>();
  }
  /// Returns the struct of this name, with its defaults; null if there is none.
  std::unique_ptr<Base> make(std::string_view name) const {
    std::lock_guard<std::mutex> lock(*mutex);
    auto found = known.find(name);
    return found == known.end() ? nullptr : found->second.make();
  }
  std::vector<std::string> all() const {
    std::lock_guard<std::mutex> lock(*mutex);
    std::vector<std::string> result;
    for (const auto &[name, ofName] : known)
      result.emplace_back(name);
    return result;
  }

private:
  struct Known {
    const void *identity;
    std::unique_ptr<Base> (*make)();
  };
  std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();
  std::map<std::string_view, Known> known;
};

} // namespace splitcast

#endif // SPLITCAST_DIALECTS_NN_HYPERPARAMETERS_H
