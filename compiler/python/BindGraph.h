//===- BindGraph.h - Python bindings of graphs, ops and optimizers ---------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_BINDGRAPH_H
#define SPLITCAST_COMPILER_PYTHON_BINDGRAPH_H

#include "compiler/graph/Graph.h"

#include <pybind11/pybind11.h>

namespace splitcast::python {

/// A graph. Its sessions share the ownership of it, since they use its MLIR context.
struct OwnedGraph {
  std::string device;
  Graph graph;
};

/// Returns the file and line of the innermost Python call that is outside of this package.
Caller callerInPython();

/// Returns a text such as "<sgd, lr=0.1>", with all numbers.
std::string reprOf(const Hyperparameters &of);

/// Binds ElementType, Sbp, Layout and Init.
void bindValues(pybind11::module_ &module);
/// Binds Tensor, after the types above.
void bindTensor(pybind11::module_ &module);
/// Binds optimizers, schedules of the learning rate, and the loss scale.
void bindOptimizers(pybind11::module_ &module);
/// Binds ops. It must be called after the functions above, since default arguments have the types that these define.
void bindOps(pybind11::module_ &module);
/// Adds to ops of tensors that one of them may be a number.
void bindNumbersForTensors(pybind11::module_ &module);
pybind11::class_<OwnedGraph, std::shared_ptr<OwnedGraph>> bindGraph(pybind11::module_ &module);

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_BINDGRAPH_H
