//===- Keywords.h - Python's keywords as what flags and options say --------------===//
//
// Options have names, values and errors in one place, as texts; here keywords become such texts: threads=2 is
// --threads=2, and {"stage": 2, "compute_type": "bf16"} is "stage=2,compute-type=bf16".
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_KEYWORDS_H
#define SPLITCAST_COMPILER_PYTHON_KEYWORDS_H

#include "compiler/launch/LaunchFlags.h"

#include <pybind11/pybind11.h>

#include <string>

namespace splitcast::python {

/// A number with all its digits, True and False as yes and no, a list as its elements with commas, else str().
std::string textOf(pybind11::handle value);
/// "name=value,...", underscores as dashes; None is left out.
std::string textOf(const pybind11::dict &keywords);

/// Sets flags by keywords. A switch is given by True, and not by False.
absl::Status parseKeywords(Flags &flags, const pybind11::dict &keywords);

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_KEYWORDS_H
