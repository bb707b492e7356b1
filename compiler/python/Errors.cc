#include "compiler/python/Errors.h"

#include <chrono>
#include <optional>
#include <thread>

namespace splitcast::python {

void raiseUnlessOk(const absl::Status &status) {
  if (!status.ok())
    raise(status);
}

void raise(const absl::Status &status) {
  const char *name = absl::IsInvalidArgument(status) || absl::IsOutOfRange(status) ? "InvalidError"
                     : absl::IsNotFound(status)                                    ? "NotFoundError"
                                                                                   : "Error";
  const nanobind::object type = nanobind::module_::import_("splitcast._errors").attr(name);
  PyErr_SetString(type.ptr(), std::string(status.message()).c_str());
  nanobind::raise_python_error();
}

namespace {

// Guarded by the interpreter's lock.
std::thread::id owner;
int depth = 0;
std::optional<std::thread::id> last; ///< the only thread that may still take it

} // namespace

Turn::Turn() {
  if (last && *last != std::this_thread::get_id())
    raise(absl::FailedPreconditionError("the job is ending, since the main thread has ended"));
  if (depth > 0 && owner != std::this_thread::get_id())
    raise(absl::FailedPreconditionError("another thread is using splitcast; only one thread at a time may, so call it "
                                        "from one thread, or hold a threading.Lock around the calls and their "
                                        "results"));
  owner = std::this_thread::get_id();
  ++depth;
}

Turn::~Turn() { --depth; }

void Turn::awaitLast() {
  last = std::this_thread::get_id();
  while (depth > 0 && owner != std::this_thread::get_id()) {
    const nanobind::gil_scoped_release release;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

} // namespace splitcast::python
