// check_graph FIRST LAST [plan | text]: checks the graphs of these seeds, and prints what fails; or prints the graphs.
#include "tests/property/GraphCheck.h"
#include "tests/property/GraphGenerator.h"

#include <cstdio>
#include <cstdlib>
#include <string>

static void print(uint64_t seed) {
  std::unique_ptr<mlir::MLIRContext> context = splitcast::differential::createContext();
  splitcast::property::GeneratedGraph graph = splitcast::property::generateGraph(seed, *context);
  for (const splitcast::differential::Configuration &configuration : graph.configurations)
    std::printf("// %s\n", configuration.text().c_str());
  std::printf("%s\n", splitcast::differential::textOf(*graph.module).c_str());
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "use: check_graph FIRST LAST [plan | text]\n");
    return 2;
  }
  splitcast::property::GraphCheckOptions options;
  options.runsPlan = argc > 3 && std::string(argv[3]) == "plan";
  const char *directory = std::getenv("TEST_TMPDIR");
  options.objectCacheDir = directory ? std::string(directory) + "/objects" : "";
  int failures = 0, exact = 0, roundedApart = 0, all = 0;
  for (uint64_t seed = std::strtoull(argv[1], nullptr, 10); seed <= std::strtoull(argv[2], nullptr, 10); ++seed) {
    if (argc > 3 && std::string(argv[3]) == "text") {
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
