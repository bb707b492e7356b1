//===- BadInputCases.h - A table of mistakes of users -----------------------------===//
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
  /// A program and its arguments. Paths are those of the files that writeFiles() writes. The program "run" stands for
  /// splitcast-run module.mlir with the inputs that it needs, each of which a later --input of the same name replaces;
  /// "bare" stands for splitcast-run alone.
  std::vector<std::string> command;
  /// Texts that must all be in the output of every rank: the file or op, what was found, what is allowed, what to do.
  std::vector<std::string> expected;
  int64_t ranks = 2;
  /// The command of rank 1, if it differs from that of rank 0.
  std::vector<std::string> commandOfRank1 = {};
};

/// Prints the name, for GoogleTest.
void PrintTo(const BadInput &input, std::ostream *out);

const std::vector<BadInput> &badInputs();

/// Writes the files of the commands: module.mlir, which is for 2 ranks and has the inputs x (8x4 f32) and labels (8
/// i64); x.npy and labels.npy with 3 steps; and many wrong files.
void writeFiles(const std::string &directory);

} // namespace splitcast

#endif // SPLITCAST_TESTS_FAULTS_BAD_INPUT_BADINPUTCASES_H
