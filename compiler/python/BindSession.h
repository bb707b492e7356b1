//===- BindSession.h - Python bindings of sessions -------------------------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_BINDSESSION_H
#define SPLITCAST_COMPILER_PYTHON_BINDSESSION_H

#include "compiler/python/BindGraph.h"

namespace splitcast::python {

/// Binds Session, and Graph.compile, which creates one.
void bindSession(pybind11::module_ &module, pybind11::class_<OwnedGraph, std::shared_ptr<OwnedGraph>> &graph);

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_BINDSESSION_H
