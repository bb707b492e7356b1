#include "compiler/python/Arrays.h"
#include "compiler/python/BindGraph.h"
#include "compiler/python/BindSession.h"
#include "compiler/python/Entries.h"
#include "compiler/python/ThisRank.h"

NB_MODULE(_splitcast, module) {
  using namespace splitcast::python;
  module.doc() = "Graphs, sessions and jobs of Splitcast; see the package splitcast.";
  // What a program still holds when the interpreter ends is freed by the operating system.
  nanobind::set_leak_warnings(false);
  bindThisRank(module);
  bindArrays(module);
  bindEntries(module);
  bindValues(module);
  bindTensor(module);
  bindOptimizers(module);
  bindOps(module);
  bindNumbersForTensors(module);
  auto graph = bindGraph(module);
  bindSession(module, graph);
}
