#include "compiler/python/Errors.h"

namespace splitcast::python {

void raiseUnlessOk(const absl::Status &status) {
  if (!status.ok())
    raise(status);
}

void raise(const absl::Status &status) {
  const char *name = absl::IsInvalidArgument(status) || absl::IsOutOfRange(status) ? "InvalidError"
                     : absl::IsNotFound(status)                                    ? "NotFoundError"
                                                                                   : "Error";
  const pybind11::object type = pybind11::module_::import("splitcast._errors").attr(name);
  PyErr_SetString(type.ptr(), std::string(status.message()).c_str());
  throw pybind11::error_already_set();
}

} // namespace splitcast::python
