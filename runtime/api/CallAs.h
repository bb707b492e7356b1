//===- CallAs.h - The kind of a library call -----------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_CALLAS_H
#define SPLITCAST_RUNTIME_API_CALLAS_H

#include "dialects/exec/Exec.h"

namespace splitcast::runtime {

/// Returns the call as one of this kind, or null if it is of another kind. It compares names, because llvm::cast
/// compares type ids, and a backend that is loaded as a shared library has type ids of its own.
template <typename Call> Call callAs(exec::LibraryCallAttrInterface call) {
  const bool isOne = call.getAbstractAttribute().getName() == Call::name;
  return isOne ? Call::getFromOpaquePointer(call.getAsOpaquePointer()) : Call();
}

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_CALLAS_H
