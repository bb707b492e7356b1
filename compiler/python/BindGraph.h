//===- BindGraph.h - Python bindings of graphs, ops and optimizers ---------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_BINDGRAPH_H
#define SPLITCAST_COMPILER_PYTHON_BINDGRAPH_H

#include "compiler/python/Conversions.h"

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
/// Returns the signature of a function that takes numbers, "def Sgd(lr: float, *, ...) -> Optimizer". The first one has
/// no default, and may be given without its name; in a method all have defaults and must be named.
std::string signatureOf(const std::string &function, const Hyperparameters &numbers, const char *result,
                        bool isMethod = false);

/// Binds ElementType, Sbp, Layout and Init.
void bindValues(nanobind::module_ &module);
/// Binds Tensor, after the types above.
void bindTensor(nanobind::module_ &module);
/// Binds optimizers, schedules of the learning rate, and the loss scale.
void bindOptimizers(nanobind::module_ &module);
/// Binds ops. It must be called after the functions above, since default arguments have the types that these define.
void bindOps(nanobind::module_ &module);
/// Adds to ops of tensors that one of them may be a number.
void bindNumbersForTensors(nanobind::module_ &module);
nanobind::class_<OwnedGraph> bindGraph(nanobind::module_ &module);

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_BINDGRAPH_H
