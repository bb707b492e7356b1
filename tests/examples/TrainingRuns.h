//===- TrainingRuns.h - Trains with an example, and compares the results ---------===//
#ifndef SPLITCAST_TESTS_EXAMPLES_TRAININGRUNS_H
#define SPLITCAST_TESTS_EXAMPLES_TRAININGRUNS_H

#include "tests/examples/Job.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace splitcast {

Command with(Command command, const std::vector<std::string> &arguments);

/// Creates a directory with the file `text`, on which the language models train.
std::string makeWorkDirectory();

JobResult runIn(const std::string &directory, int64_t ranks, const Command &command, int64_t limitSeconds = 120);

/// The losses and variables of a training, with all bits.
struct Trained {
  std::string losses, variables;
};

/// Trains with an example. The results also stay in `directory`, as the files `losses` and `variables`.
Trained train(const std::string &directory, int64_t ranks, const Command &command);

/// Trains with all stages and strategies, and checks that all have the results of the first.
void compareAll(const Command &command, int64_t ranks, int64_t steps);

/// Trains with the example, and then with splitcast-run and the module that the example has written. `decisions` are
/// ops that are added at the beginning of the module. `zero` has the values of --enable-zero for the two runs. Returns
/// what rank 0 of splitcast-run wrote, which includes its report.
std::string compareWithRun(const Command &command, const std::vector<std::string> &inputs, int64_t ranks,
                           const std::vector<std::string> &decisions = {},
                           std::pair<const char *, const char *> zero = {"stage=2", "stage=3,strategy=tensor"});

/// Returns the losses in the text of a file of --losses, from their exact form.
std::vector<float> exactLosses(const std::string &text);
std::vector<float> npyFloats(const std::string &path);

/// Returns what follows `label` in the output, up to the end of the line.
std::string valueAfter(const std::string &output, const std::string &label);

/// The rows of a trace, one per stream of the device: on a CPU the ops of all rows take turns.
enum class Rows { InTurn, SideBySide };
/// Returns what --profile wrote: of each rank, the microseconds of all ops in one step, by kind. Ops of a row do not
/// overlap.
std::map<int64_t, std::map<std::string, double>> profiledKinds(const std::string &path, int64_t steps, Rows rows);

} // namespace splitcast

#endif // SPLITCAST_TESTS_EXAMPLES_TRAININGRUNS_H
