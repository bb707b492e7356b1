//===- Mpirun.h - This test once more, as several ranks --------------------===//
#ifndef SPLITCAST_TESTS_RUNTIME_MPI_MPIRUN_H
#define SPLITCAST_TESTS_RUNTIME_MPI_MPIRUN_H

#include <cstdint>
#include <string>
#include <vector>

namespace splitcast::runtime {

struct MpirunResult {
  int exitCode = -1; ///< of mpirun; -1: it ran past its time and was killed, or could not be started
  std::string output;
  double seconds = 0;
};

/// Runs this binary with `arguments` as `ranks` ranks under mpirun, for at most `limitSeconds`; then all are killed.
MpirunResult runUnderMpirun(int64_t ranks, const std::vector<std::string> &arguments, double limitSeconds);

/// A new, empty directory for this test.
std::string makeTestDirectory();

/// The file's text, or nothing when there is none.
std::string readText(const std::string &path);

} // namespace splitcast::runtime

#endif // SPLITCAST_TESTS_RUNTIME_MPI_MPIRUN_H
