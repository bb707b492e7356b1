//===- BindSession.h - Python bindings of sessions -------------------------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_BINDSESSION_H
#define SPLITCAST_COMPILER_PYTHON_BINDSESSION_H

#include "compiler/python/BindGraph.h"

namespace splitcast::python {

/// Binds Session, and Graph.compile, which creates one.
void bindSession(nanobind::module_ &module, nanobind::class_<OwnedGraph> &graph);

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_BINDSESSION_H
