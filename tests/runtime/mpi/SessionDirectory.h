//===- SessionDirectory.h - Where an mpirun keeps its files -----------------===//
#ifndef SPLITCAST_TESTS_RUNTIME_MPI_SESSIONDIRECTORY_H
#define SPLITCAST_TESTS_RUNTIME_MPI_SESSIONDIRECTORY_H

#include <string>

namespace splitcast {

/// A directory of one job, gone with this object. By default Open MPI keeps the files of all of a user's jobs below one
/// directory, which whoever ends last removes: then a job that begins at that moment does not start (seen in 4 of 1579
/// starts, four at a time).
class SessionDirectory {
public:
  SessionDirectory();
  ~SessionDirectory();
  SessionDirectory(const SessionDirectory &) = delete;
  SessionDirectory &operator=(const SessionDirectory &) = delete;

  /// Its path: short, since sockets may lie in it.
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

} // namespace splitcast

#endif // SPLITCAST_TESTS_RUNTIME_MPI_SESSIONDIRECTORY_H
