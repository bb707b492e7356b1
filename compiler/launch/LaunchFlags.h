//===- LaunchFlags.h - The flags of a program ---------------------------------===//
//
// --name=value or --name value; a switch is --name alone. Each flag is given at most once, lists excepted. Errors say
// which flag, what was found and what is allowed.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_LAUNCHFLAGS_H
#define SPLITCAST_COMPILER_LAUNCH_LAUNCHFLAGS_H

#include "dialects/sbp/algebra/Policy.h"

#include "absl/status/status.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace splitcast {

class Flags {
public:
  /// `usage`: what follows the program's name, and then what the program does.
  Flags(std::string program, std::string usage) : program(std::move(program)), usage(std::move(usage)) {}

  // What the pointers point to holds the default, and outlives parse().
  void addString(const std::string &name, std::string *value, const std::string &valueName, const std::string &help);
  void addChoice(const std::string &name, std::string *value, const std::vector<std::string> &choices,
                 const std::string &help);
  void addInteger(const std::string &name, int64_t *value, int64_t least, int64_t most, const std::string &help);
  void addNumber(const std::string &name, double *value, double least, double most, const std::string &help);
  void addSwitch(const std::string &name, bool *value, const std::string &help);
  /// `parse` is called with each value given. Its error follows "--name is 'value'; ".
  void addParsed(const std::string &name, const std::string &valueName, const std::string &help, bool isRepeatable,
                 std::function<absl::Status(const std::string &)> parse);
  /// --enable-zero=OPTION=VALUE,...: the options of the pipeline of that name. Unlike the others it replaces all of
  /// `options`: what the flag does not say is as by default. And --accumulate=K, --accumulate-order=ORDER and
  /// --recompute=all|none|elementwise|GROUP,..., which count more where they say the same.
  void addZero(sbp::ZeroOptions *options);
  /// An argument without a name, which must be given.
  void addPositional(const std::string &valueName, std::string *value);

  /// Ranks may differ in a flag that was added.
  void letDiffer(const std::string &name);

  /// Whether the flag was given.
  bool isGiven(const std::string &name) const;
  /// The flags that were given, with their values, in the order in which they were added: what ranks must have in
  /// common, those left out in which they may differ. Of files and directories, which may have another path for each
  /// rank, only that they were given.
  std::string given() const;

  /// Once. Errors  InvalidArgument, with the values half set.
  absl::Status parse(int argc, const char *const *argv);
  /// Whether --help was among them; nothing else was then checked.
  bool isHelpWanted() const { return helpWanted; }
  std::string help() const;

private:
  void addRecompute(sbp::ZeroOptions *options);

  struct Flag {
    std::string name, valueName, help;
    bool isRepeatable = false;
    bool mayDiffer = false;                                 ///< from rank to rank
    std::function<absl::Status(const std::string &)> parse; ///< a switch gets ""
    std::vector<std::string> values;                        ///< as they were given
    bool isGiven() const { return !values.empty(); }
    bool isSwitch() const { return valueName.empty(); }
  };
  absl::Status parseFlag(const std::string &argument, const std::vector<std::string> &arguments, size_t &next);
  absl::Status unknown(const std::string &name) const;
  Flag *find(const std::string &name);

  std::string program, usage;
  std::vector<Flag> flags;
  std::vector<std::pair<std::string, std::string *>> positionals;
  bool helpWanted = false;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_LAUNCHFLAGS_H
