//===- SessionDirectory.h - A directory for the files of an mpirun ----------===//
#ifndef SPLITCAST_TESTS_RUNTIME_MPI_SESSIONDIRECTORY_H
#define SPLITCAST_TESTS_RUNTIME_MPI_SESSIONDIRECTORY_H

#include <string>

namespace splitcast {

/// A directory for one job, which is removed with this object. By default, Open MPI keeps the files of all jobs of a
/// user in one directory, and the last job removes it. A job that begins at this moment fails to start (4 of 1579
/// starts, with four jobs at a time).
class SessionDirectory {
public:
  SessionDirectory();
  ~SessionDirectory();
  SessionDirectory(const SessionDirectory &) = delete;
  SessionDirectory &operator=(const SessionDirectory &) = delete;

  /// The path. It is short, since the directory may have sockets.
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

} // namespace splitcast

#endif // SPLITCAST_TESTS_RUNTIME_MPI_SESSIONDIRECTORY_H
