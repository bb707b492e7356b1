//===- TrainingRuns.h - Training with an example, and what it leaves -------------===//
#ifndef SPLITCAST_TESTS_EXAMPLES_TRAININGRUNS_H
#define SPLITCAST_TESTS_EXAMPLES_TRAININGRUNS_H

#include "tests/examples/Job.h"

#include <cstdint>
#include <string>
#include <vector>

namespace splitcast {

Command with(Command command, const std::vector<std::string> &arguments);

/// A directory with the text that the language models read: `text`.
std::string makeWorkDirectory();

JobResult runIn(const std::string &directory, int64_t ranks, const Command &command, int64_t limitSeconds = 120);

/// What a training ended with, to the bit: losses and variables.
struct Trained {
  std::string losses, variables;
};

/// Trains; what it leaves stays in `directory`, too, as `losses` and `variables`.
Trained train(const std::string &directory, int64_t ranks, const Command &command);

/// Trains with all stages and strategies, and compares with the first.
void compareAll(const Command &command, int64_t ranks, int64_t steps);

/// Trains with the example, and then with splitcast-run what the example has written, to which `decisions` are added:
/// ops for the beginning of the module. `zero` are the flag's values for the two. Returns what rank 0 of the latter
/// wrote, with its report.
std::string compareWithRun(const Command &command, const std::vector<std::string> &inputs, int64_t ranks,
                           const std::vector<std::string> &decisions = {},
                           std::pair<const char *, const char *> zero = {"stage=2", "stage=3,strategy=tensor"});

/// The losses in a file of an example, from their exact form.
std::vector<float> exactLosses(const std::string &text);
std::vector<float> npyFloats(const std::string &path);

/// What follows `label` in the output, up to the line's end.
std::string valueAfter(const std::string &output, const std::string &label);

} // namespace splitcast

#endif // SPLITCAST_TESTS_EXAMPLES_TRAININGRUNS_H
