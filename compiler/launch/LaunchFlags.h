//===- LaunchFlags.h - The flags of a program ---------------------------------===//
//
// A flag is written --name=value or --name value; a switch is --name alone. Each flag is given at most once, except for
// lists. An error names the flag, what was found and what is allowed.
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
  /// `usage` is the text behind the program's name in the help: the arguments, and then what the program does.
  Flags(std::string program, std::string usage) : program(std::move(program)), usage(std::move(usage)) {}

  // A pointer's target holds the default, and must outlive parse(). Names are given without "--", and each once.
  // `least` and `most` are allowed, too.
  void addString(const std::string &name, std::string *value, const std::string &valueName, const std::string &help);
  void addChoice(const std::string &name, std::string *value, const std::vector<std::string> &choices,
                 const std::string &help);
  void addInteger(const std::string &name, int64_t *value, int64_t least, int64_t most, const std::string &help);
  void addNumber(const std::string &name, double *value, double least, double most, const std::string &help);
  void addSwitch(const std::string &name, bool *value, const std::string &help);
  /// Calls `parse` with each value that is given. Its error is printed behind "--name is 'value'; ".
  void addParsed(const std::string &name, const std::string &valueName, const std::string &help, bool isRepeatable,
                 std::function<absl::Status(const std::string &)> parse);
  /// Adds --enable-zero=OPTION=VALUE,...: the options of the pipeline of that name. Unlike other flags it replaces all
  /// of `options`: an option that it does not set gets its default. Also adds --accumulate=K, --accumulate-order=ORDER,
  /// --pipeline=ORDER, --reproducible and --recompute=all|none|elementwise|GROUP,... Each of these has precedence over
  /// the same option of --enable-zero.
  void addZero(sbp::ZeroOptions *options);
  /// Adds an argument without a name, behind those that were added before. It must be given.
  void addPositional(const std::string &valueName, std::string *value);

  /// Allows ranks to have different values of a flag, which was added before.
  void letDiffer(const std::string &name);
  /// Allows a flag that takes a file or directory, and was added before, to be empty. Else `--resume=$DIRECTORY` with a
  /// variable that is not set would be taken as if it were not given.
  void letBeEmpty(const std::string &name);

  /// Whether the flag was given.
  bool isGiven(const std::string &name) const;
  /// The flags that were given, with their values, in the order in which they were added. Ranks compare this text.
  /// Flags in which they may differ are left out. Of files and directories, whose paths may differ from rank to rank,
  /// it says only that they were given.
  std::string given() const;

  /// Parses the command line, whose first argument, the program, is skipped; called once.
  ///   Errors  InvalidArgument: an argument is wrong. Some values may have been set already.
  absl::Status parse(int argc, const char *const *argv);
  /// Whether --help was among the arguments. If so, nothing else was checked.
  bool isHelpWanted() const { return helpWanted; }
  /// The usage, and a line or more per flag in the order in which they were added.
  std::string help() const;

private:
  void addRecompute(sbp::ZeroOptions *options);

  struct Flag {
    std::string name, valueName, help;
    bool isRepeatable = false;
    bool mayDiffer = false;                                 ///< whether ranks may have different values
    bool mayBeEmpty = false;                                ///< whether a path may be empty
    std::function<absl::Status(const std::string &)> parse; ///< a switch gets ""
    std::vector<std::string> values;                        ///< the values that were given
    bool isGiven() const { return !values.empty(); }
    bool isSwitch() const { return valueName.empty(); }
    bool isPath() const { return valueName.rfind("FILE", 0) == 0 || valueName.rfind("DIRECTORY", 0) == 0; }
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
