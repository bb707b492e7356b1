//===- Mpirun.h - Runs this test as several ranks --------------------------===//
#ifndef SPLITCAST_TESTS_RUNTIME_MPI_MPIRUN_H
#define SPLITCAST_TESTS_RUNTIME_MPI_MPIRUN_H

#include <cstdint>
#include <string>
#include <vector>

namespace splitcast::runtime {

struct MpirunResult {
  int exitCode = -1; ///< that of mpirun; -1 if it was killed at its limit, or could not be started
  std::string output;
  double seconds = 0;
};

/// Runs this binary with `arguments` as `ranks` ranks under mpirun. After `limitSeconds` all processes are killed.
MpirunResult runUnderMpirun(int64_t ranks, const std::vector<std::string> &arguments, double limitSeconds);

/// Creates an empty directory for this test.
std::string makeTestDirectory();

/// Returns the text of a file; empty if there is none.
std::string readText(const std::string &path);

} // namespace splitcast::runtime

#endif // SPLITCAST_TESTS_RUNTIME_MPI_MPIRUN_H
