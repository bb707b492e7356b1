//===- CallAs.h - Which call of a library a plan has ---------------------------===//
#ifndef SPLITCAST_RUNTIME_API_CALLAS_H
#define SPLITCAST_RUNTIME_API_CALLAS_H

#include "dialects/exec/Exec.h"

namespace splitcast::runtime {

/// The call as one of this kind, or null. By its name: a backend that is loaded as a library has type ids of its own,
/// by which llvm::cast would go.
template <typename Call> Call callAs(exec::LibraryCallAttrInterface call) {
  const bool isOne = call.getAbstractAttribute().getName() == Call::name;
  return isOne ? Call::getFromOpaquePointer(call.getAsOpaquePointer()) : Call();
}

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_CALLAS_H
