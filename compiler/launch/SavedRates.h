//===- SavedRates.h - What a file of variables decides, and what the command decides -------===//
//
// Training goes on from a file of variables (a checkpoint, --load-variables, session.load in Python), with a command
// that may say other things than the one that wrote the file. kDecisions says whose word counts; docs/guide.md quotes
// it.
//
// Learning rates are variables, and so in the file, and the command names them, too. If the two differ, one of them
// would be ignored without a word. So this is an error, unless the user says which counts.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_SAVEDRATES_H
#define SPLITCAST_COMPILER_LAUNCH_SAVEDRATES_H

#include "compiler/launch/LaunchFlags.h"
#include "compiler/launch/Session.h"

#include <string>

namespace splitcast {

/// A row of the table.
struct Decision {
  const char *what;
  const char *decidedBy;
};

inline constexpr Decision kDecisions[] = {
    {"parameters, other variables, the state of optimizers", "the file"},
    {"counts: updates (which schedules and powers of betas follow), runs (which dropout follows)", "the file"},
    {"the scale of a loss", "the file; `initial` of `--loss-scale` is where training began"},
    {"the steps done", "the checkpoint; `--steps` counts from the beginning of training"},
    {"the seed", "both: `--seed` must be that of the checkpoint"},
    {"learning rates, before the schedule's factor (`--lr`; `lr` of `--optimizer` and `--group`; the program's own)",
     "both: an error if they differ, unless `--rates=saved` or `--rates=command` says which counts; the file, if the "
     "program has a flag for them that is not given"},
    {"all else: the schedule, other numbers of optimizers such as the weight decay, clipping, dropout, the batch and "
     "its data, types, ZeRO, the mesh, the number of ranks",
     "the command"}};

/// The table as Markdown.
std::string decisionTable();

/// Which learning rates count if those of a file are not those of the command.
class SavedRates {
public:
  /// Adds --rates.
  void addTo(Flags &flags);
  /// Sets the value of --rates, "saved" or "command"; empty: they must agree.
  ///   Errors  InvalidArgument: it is another text.
  absl::Status choose(const std::string &text);
  /// Says that the command has a flag for the rates which is not given, so that the file's count.
  void setUnnamed() { isNamed = false; }
  /// Says how a message names the choice; "--rates=" without this call.
  void setName(const std::string &name) { choiceName = name; }

  /// Calls `load`, which loads variables of the file `path` into the session, and settles the rates. All ranks call it.
  ///   Errors  those of `load`. InvalidArgument: a rate of the file is not that of the command, and nothing says which
  ///           counts. The variables are then those of the file.
  absl::Status load(Session &session, const std::string &path, absl::FunctionRef<absl::Status()> load) const;

private:
  enum class Choice { MustAgree, Saved, Command };
  Choice choice = Choice::MustAgree;
  bool isNamed = true;
  std::string choiceName = "--rates=";
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_SAVEDRATES_H
