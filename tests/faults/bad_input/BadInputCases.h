//===- BadInputCases.h - The table of what can be wrong ---------------------------===//
#ifndef SPLITCAST_TESTS_FAULTS_BAD_INPUT_BADINPUTCASES_H
#define SPLITCAST_TESTS_FAULTS_BAD_INPUT_BADINPUTCASES_H

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace splitcast {

/// A command that must fail on every rank.
struct BadInput {
  const char *name;
  /// Program, then arguments; paths are those of the files below. "run": splitcast-run module.mlir with the inputs it
  /// needs, each replaced by a later --input of the same name. "bare": splitcast-run alone.
  std::vector<std::string> command;
  /// All of these are in the output of every rank: the file or op, what was found, what was allowed, what to do.
  std::vector<std::string> expected;
  int64_t ranks = 2;
  /// What rank 1 runs instead, where ranks differ.
  std::vector<std::string> commandOfRank1 = {};
};

/// Its name, for gtest.
void PrintTo(const BadInput &input, std::ostream *out);

const std::vector<BadInput> &badInputs();

/// Writes the files that the commands name: module.mlir, which is on 2 ranks and has inputs x (8x4 f32) and labels (8
/// i64), x.npy and labels.npy, which have 3 steps, and many that are wrong.
void writeFiles(const std::string &directory);

} // namespace splitcast

#endif // SPLITCAST_TESTS_FAULTS_BAD_INPUT_BADINPUTCASES_H
