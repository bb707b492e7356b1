//===- DirectoryClaim.h - The one job to which a directory belongs -----------===//
//
// Two jobs may write to one directory: by mistake, or because the first was only paused (SIGSTOP, a suspended machine)
// when the second began, and goes on. No lock tells them apart on all file systems. So each job takes a number when it
// begins, larger than all before, and the directory belongs to the job with the largest. The number is a file:
//
//   job-000000002.json    {"job":2,"host":"node7","process":4711,"began":"2026-11-29T03:30:08+00:00","id":"5e0c..."}
//
// It gets its name by link(2), which fails if the name is taken, on network file systems, too. Where there are no links
// it is created under its name (O_EXCL).
//
// A job looks (check) before it gives a file its name and before it removes one. It may be paused between the look and
// the act. So the files that it makes have its number in their names, and it removes none that has a larger number: an
// act that comes too late neither replaces nor removes what a later job wrote.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_DIRECTORYCLAIM_H
#define SPLITCAST_COMPILER_LAUNCH_DIRECTORYCLAIM_H

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <string>

namespace splitcast {

class DirectoryClaim {
public:
  /// Takes the number after the largest in the directory, and at least `above` + 1. Jobs that do so at the same time
  /// get different numbers. `mayTake` looks whether this job may have the directory. It is called just before the
  /// number is taken, and again after it, when no earlier job begins to write any more; if it then has an error, the
  /// number is given back.
  ///   Errors  Those of `mayTake`. Those of File: the directory is missing, full, or may not be written.
  static absl::StatusOr<DirectoryClaim> take(const std::string &directory, int64_t above,
                                             absl::FunctionRef<absl::Status()> mayTake);
  /// Returns the claim that another rank of this job took, and described by describe().
  ///   Errors  FailedPrecondition: the directory does not have it, so this rank sees a different directory.
  ///           InvalidArgument: the text is not of describe().
  static absl::StatusOr<DirectoryClaim> join(const std::string &directory, const std::string &text);
  std::string describe() const;

  int64_t number() const { return ownNumber; }

  /// Looks whether the directory still belongs to this job. Any thread may call it.
  ///   Errors  FailedPrecondition: it does not. The message says which job it belongs to, with host, process and time,
  ///           or that this job's file was removed. Unavailable: the directory cannot be read.
  absl::Status check() const;
  /// Removes this job's file, if it is still there. The directory then belongs to the job before it again.
  void giveBack() const;
  /// Removes the files of earlier jobs, which know by now, or will, that the directory is no longer theirs.
  void removeEarlier() const;

private:
  DirectoryClaim(std::string directory, int64_t number, std::string note)
      : directory(std::move(directory)), ownNumber(number), note(std::move(note)) {}

  absl::Status link(absl::FunctionRef<absl::Status()> mayTake, bool &isTaken) const;
  std::string path() const;
  absl::Status lostTo(int64_t number) const;

  std::string directory;
  int64_t ownNumber;
  std::string note; ///< the file's contents
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_DIRECTORYCLAIM_H
