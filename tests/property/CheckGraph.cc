// check_graph FIRST LAST [plan | text | features]: checks the graphs of these seeds, and prints what fails; or prints
// the graphs, or how many of them have which feature.
#include "tests/property/GraphCheck.h"
#include "tests/property/GraphGenerator.h"

#include "llvm/Support/InitLLVM.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

static std::vector<splitcast::property::GeneratedGraph> graphsOf(uint64_t seed, mlir::MLIRContext &context) {
  std::vector<splitcast::property::GeneratedGraph> graphs;
  graphs.push_back(splitcast::property::generateGraph(seed, context));
  if (auto beside = splitcast::property::generateBeside(seed, context))
    graphs.push_back(*std::move(beside));
  return graphs;
}

static void print(uint64_t seed) {
  std::unique_ptr<mlir::MLIRContext> context = splitcast::differential::createContext();
  for (splitcast::property::GeneratedGraph &graph : graphsOf(seed, *context)) {
    for (const splitcast::differential::Configuration &configuration : graph.configurations)
      std::printf("// %s\n", configuration.text().c_str());
    std::printf("%s\n", splitcast::differential::textOf(*graph.module).c_str());
  }
}

static void printFeatures(uint64_t first, uint64_t last) {
  std::map<std::string, int64_t> counts;
  for (uint64_t seed = first; seed <= last; ++seed) {
    std::unique_ptr<mlir::MLIRContext> context = splitcast::differential::createContext();
    for (const splitcast::property::GeneratedGraph &graph : graphsOf(seed, *context))
      for (const std::string &feature : graph.features)
        ++counts[feature];
  }
  for (const auto &[feature, count] : counts)
    std::printf("%5ld  %s\n", static_cast<long>(count), feature.c_str());
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "use: check_graph FIRST LAST [plan | text | features]\n");
    return 2;
  }
  llvm::InitLLVM init(argc, argv); // which prints where it crashed: a crash may not come again
  const std::string mode = argc > 3 ? argv[3] : "";
  const uint64_t firstSeed = std::strtoull(argv[1], nullptr, 10), lastSeed = std::strtoull(argv[2], nullptr, 10);
  if (mode == "features") {
    printFeatures(firstSeed, lastSeed);
    return 0;
  }
  splitcast::property::GraphCheckOptions options;
  options.runsPlan = mode == "plan";
  const char *directory = std::getenv("TEST_TMPDIR");
  options.objectCacheDir = directory ? std::string(directory) + "/objects" : "";
  int failures = 0, exact = 0, roundedApart = 0, all = 0;
  for (uint64_t seed = firstSeed; seed <= lastSeed; ++seed) {
    if (mode == "text") {
      print(seed);
      continue;
    }
    splitcast::property::GraphCheckResult result = splitcast::property::checkGraph(seed, options);
    ++all;
    exact += result.isExact;
    roundedApart += result.isRoundedApart;
    if (result.status.ok())
      continue;
    ++failures;
    std::printf("FAILED %s\n", std::string(result.status.message()).c_str());
    std::fflush(stdout);
  }
  std::printf("%d graphs, %d exact, %d rounded apart, %d failed\n", all, exact, roundedApart, failures);
  return failures ? 1 : 0;
}
