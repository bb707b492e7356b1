//===- DeviceTraits.h - The abilities of a kind of device --------------------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_DEVICETRAITS_H
#define SPLITCAST_PASSES_LOCAL_DEVICETRAITS_H

#include "dialects/ccl/Ccl.h"
#include "dialects/nn/Nn.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace splitcast {

struct DeviceTraits {
  /// Kernels are gpu.launch ops; if false, they are loops of one thread.
  bool launchesThreads = false;
  /// One walk over the rows can also sum over them. (On a GPU many warps share the rows, so that such a sum is a kernel
  /// of its own.)
  bool sumsBesideRows = true;
  /// The device has memory of its own, besides the host's.
  bool hasOwnMemory = false;
  /// The alignment, in bytes, that rows of a product's matrices need for fast loads; 1: none.
  int64_t rowBytes = 1;
  /// The streams of collectives that sum, and of those that only move data. (A CPU runs one collective at a time; on a
  /// GPU, a gather that starts ahead need not wait for the sums.)
  std::string sumStream = "communication", moveStream = "communication";
  /// Returns in what chunks a sum over so many ranks sends addends.
  int64_t (*chunkBytes)(int64_t ranks) = [](int64_t) { return ccl::kChunkBytes; };
  /// Returns the device's version of a library call that an op asks for, with the workspace that it needs there;
  /// nothing if the device has no such call.
  std::optional<nn::LibraryCall> (*libraryCall)(nn::LibraryCall call) = nullptr;

  /// Whether the device's call for the gradient of such an attention does less if it is given the output and the
  /// statistics of the attention; null: none does.
  bool (*takesStatistics)(const exec::AttentionExtents &gradient) = nullptr;

  /// Returns the bytes of the scratch memory that a collective needs.
  int64_t workspaceBytesOf(ccl::CollectiveOpInterface op) const;
  /// Returns the library call for `op`; nothing if it becomes a kernel, or part of one.
  std::optional<nn::LibraryCall> libraryCallOf(mlir::Operation *op) const;
};

/// Returns the traits of the kind of device that the rank's program is for: the module's `ccl.device`, which
/// `sbp-localize` sets. Only here does the compiler distinguish kinds of devices, except for the costs of their
/// transports (ccl::TransportModel::of).
DeviceTraits deviceTraitsOf(mlir::ModuleOp module);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_DEVICETRAITS_H
