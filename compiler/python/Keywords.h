//===- Keywords.h - Converts Python's keyword arguments to flags and options -----===//
//
// Flags and options are parsed from texts, which also checks them. Keyword arguments are converted to such texts:
// threads=2 becomes --threads=2, and {"stage": 2, "compute_type": "bf16"} becomes "stage=2,compute-type=bf16".
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_KEYWORDS_H
#define SPLITCAST_COMPILER_PYTHON_KEYWORDS_H

#include "compiler/launch/LaunchFlags.h"

#include <nanobind/nanobind.h>

#include <string>

namespace splitcast::python {

/// Returns the text of a value: a number with all its digits, True as "yes" and False as "no", the elements of a list
/// or tuple separated by commas, and str(value) for anything else.
std::string textOf(nanobind::handle value);
/// Returns "name=value,...", with dashes for underscores in names. Keywords whose value is None are left out.
std::string textOf(const nanobind::dict &keywords);

/// Sets flags from keywords. Those whose value is None or False are left out; True gives a switch.
absl::Status parseKeywords(Flags &flags, const nanobind::dict &keywords);

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_KEYWORDS_H
