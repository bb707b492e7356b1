//===- DeviceTraits.h - What a kind of device can do --------------------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_DEVICETRAITS_H
#define SPLITCAST_PASSES_LOCAL_DEVICETRAITS_H

#include "dialects/nn/Nn.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace splitcast {

struct DeviceTraits {
  /// Kernels are gpu.launch ops; else loops of one thread.
  bool launchesThreads = false;
  /// One walk over the rows can also sum over them. (On a GPU rows are many warps', so that such a sum is a kernel of
  /// its own.)
  bool sumsBesideRows = true;
  /// Its spaces are memory of its own, beside the host's.
  bool hasOwnMemory = false;
  /// Rows of a product's matrices that begin at multiples of this are loaded whole, in bytes; 1: all are.
  int64_t rowBytes = 1;
  /// Streams of the collectives that add, and of those that only move. (A CPU gets on with one at a time; on a GPU a
  /// gather ahead need not wait for the sums.)
  std::string sumStream = "communication", moveStream = "communication";
  /// The device's form of a library call that an op asks for, with the workspace that it needs there; none: the device
  /// has no such call.
  std::optional<nn::LibraryCall> (*libraryCall)(nn::LibraryCall call) = nullptr;

  /// What is called for `op`; none: it becomes a kernel, or part of one.
  std::optional<nn::LibraryCall> libraryCallOf(mlir::Operation *op) const;
};

/// Of the kind of device that the rank's program is for: the module's `ccl.device`, which `sbp-localize` sets. Here
/// alone does the compiler tell kinds apart, but for what their transports cost (ccl::TransportModel::of).
DeviceTraits deviceTraitsOf(mlir::ModuleOp module);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_DEVICETRAITS_H
