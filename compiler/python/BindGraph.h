//===- BindGraph.h - Graphs, their ops and optimizers in Python ------------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_BINDGRAPH_H
#define SPLITCAST_COMPILER_PYTHON_BINDGRAPH_H

#include "compiler/graph/Graph.h"

#include <pybind11/pybind11.h>

namespace splitcast::python {

/// A graph, which sessions of it hold, too: they run in its context.
struct OwnedGraph {
  std::string device;
  Graph graph;
};

/// The line of Python's code that calls now, outside of this package.
Caller callerInPython();

/// Tensor, ElementType, Sbp, Layout and Init.
void bindValues(pybind11::module_ &module);
/// Optimizers, schedules of the learning rate and the scale of a loss.
void bindOptimizers(pybind11::module_ &module);
/// After those: defaults of what they define are made.
void bindOps(pybind11::module_ &module);
pybind11::class_<OwnedGraph, std::shared_ptr<OwnedGraph>> bindGraph(pybind11::module_ &module);

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_BINDGRAPH_H
