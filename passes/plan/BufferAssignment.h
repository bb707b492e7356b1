//===- BufferAssignment.h - Which tensors share which buffer --------------------------===//
//
// Gives every tensor of a rank's program a place: a buffer and an offset in it. Results of views and waits have places
// within those of their operands. A tensor that is packed into a bucket, gathered, or assigned to a storage is computed
// in its target place, if no op still needs the bytes there; else it is copied, which the lowering sees because the two
// places differ. A kernel's result is computed in the place of an operand that no op needs afterwards, if each element
// is read no later than it is written.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_BUFFERASSIGNMENT_H
#define SPLITCAST_PASSES_PLAN_BUFFERASSIGNMENT_H

#include "dialects/ccl/Ccl.h"
#include "dialects/nn/Nn.h"
#include "passes/local/DeviceTraits.h"
#include "passes/local/SumsInPlace.h"
#include "passes/plan/ArenaPlanner.h"
#include "passes/plan/BufferRoles.h"
#include "passes/plan/KernelForm.h"
#include "passes/plan/RangeIndex.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <memory>
#include <optional>

namespace splitcast {

/// A range of bytes of a buffer, from `offset` on.
struct Place {
  int64_t buffer = -1;
  int64_t offset = 0;
  int64_t bytes = 0;
  bool operator==(const Place &other) const {
    return buffer == other.buffer && offset == other.offset && bytes == other.bytes;
  }
  bool overlaps(const Place &other) const {
    return buffer == other.buffer && offset < other.offset + other.bytes && other.offset < offset + bytes;
  }
};

struct Buffer {
  std::string storage; ///< the name of its ccl.storage; empty: it is in the arena
  ArenaBuffer arena;
  bool mayBeOverwritten = false; ///< made for one value; others may be made in its place when no op needs it any more
};

class BufferAssignment {
public:
  explicit BufferAssignment(mlir::func::FuncOp function);

  Place placeOf(mlir::Value tensor) const;
  /// Returns the buffer of a storage that the function assigns.
  int64_t bufferOf(mlir::StringRef storage) const { return storages.at(storage.str()); }
  /// Returns the place in which a collective works: all its blocks (for an all-to-all, those that it receives).
  Place collectiveData(mlir::Operation *collective) const { return data.lookup(collective); }
  /// Returns the workspace of a collective, a library call, or a fusion's kernel, if it has one.
  std::optional<Place> workspaceOf(mlir::Operation *op) const;
  /// Returns the operand in whose place a fusion's result is computed, or -1.
  int64_t tiedOperand(nn::FusionOp fusion, unsigned result) const;
  /// Whether a read copies the storage, because an op uses its value after an assignment.
  bool readIsCopied(ccl::ReadOp read) const { return copiedReads.contains(read); }

  std::vector<Buffer> buffers;

private:
  struct Use {
    mlir::Operation *op;
    mlir::Value value;
  };
  /// A use of a value that is a part of a storage.
  struct StorageUse {
    Place place;
    Use use;
    ccl::ReadOp read;
  };
  struct Write {
    Place place;
    int64_t index; ///< of the op
  };

  void number(mlir::Block &block);
  void findCopiedReads(mlir::Block &block);
  void defineStorages(mlir::Block &block);
  void placeWanted(mlir::Block &block);
  void placeWanted(ccl::CollectiveOpInterface op);
  void placeRest(mlir::Block &block);
  void computeLifetimes(mlir::Block &block);
  void extendCollective(ccl::CollectiveOpInterface op);
  void addWorkspace(mlir::Operation *op);

  /// Returns the tensor that `value` is a part of, and its offset there in bytes. The root of a wait is the pending
  /// value of its collective, unless the result has been moved out of it.
  std::pair<mlir::Value, int64_t> rootOf(mlir::Value value) const;
  static int64_t bytesOf(mlir::Value tensor);
  int64_t indexOf(mlir::Operation *op) const { return indices.lookup(op); }
  int64_t newBuffer(int64_t bytes, exec::Role role, llvm::StringRef owner);
  int64_t storageBuffer(mlir::StringRef name);

  void wantInStorage(ccl::AssignOp assign);
  void want(mlir::Value value, Place target, mlir::Operation *destroyer, mlir::Operation *gather = nullptr);
  bool isFree(mlir::Value root) const;
  /// Whether an op between a collective and its wait uses the value.
  bool isUsedUnderWay(mlir::Value root, ccl::CollectiveOpInterface op) const;
  void makeIn(Place target, mlir::Value root, ccl::AssignOp assign);
  bool storageIsUnused(Place target, mlir::Operation *writer, mlir::Value root, ccl::AssignOp assign,
                       mlir::Operation *gather) const;
  /// Whether an assign at an index in [begin, end) of the block overwrites bytes of the target.
  bool isAssignedWithin(llvm::StringRef storage, Place target, int64_t begin, int64_t end) const;
  bool storageIsRead(Place target, mlir::Operation *writer, mlir::Value root, ccl::AssignOp assign) const;
  bool mayTie(mlir::Operation *writer, mlir::Value result, mlir::Value operand) const;
  bool isNeededAfter(mlir::Operation *op, mlir::Value root) const;
  std::optional<Place> dyingOperand(nn::FusionOp fusion, mlir::Value result) const;
  mlir::Operation *writerOf(mlir::Value root) const;
  void extend(Place place, int64_t index);

  struct Kernel {
    explicit Kernel(nn::FusionOp fusion) : body(fusion), form(body) {}
    LinalgBody body;
    KernelForm form;
  };

  const DeviceTraits traits;
  const BufferRoles roles;
  const SumsInPlace sumsInPlace;
  llvm::DenseMap<mlir::Operation *, int64_t> indices;
  mutable std::map<mlir::Operation *, std::unique_ptr<Kernel>> kernels; ///< made on first use
  llvm::DenseMap<mlir::Value, Place> places;                            ///< of roots
  llvm::DenseMap<mlir::Operation *, Place> data, workspaces;
  llvm::DenseMap<mlir::Operation *, ccl::AssignOp>
      assignOf; ///< of ops that make their result in a storage, or in a block of it
  llvm::DenseSet<mlir::Operation *> copiedReads;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Use>> uses; ///< of roots, through their aliases
  llvm::DenseMap<mlir::Value, int64_t> neededUntil; ///< the last op that uses a root, or that waits for an op that does
  std::map<std::string, int64_t> storages;
  std::map<std::string, std::vector<int64_t>> assigns;   ///< by storage, ascending
  std::map<std::string, RangeIndex<int64_t>> assigned;   ///< by storage: the same, by the bytes that they assign
  std::map<int64_t, std::vector<int64_t>> copies;        ///< reads that are copied, by buffer, ascending
  std::map<int64_t, RangeIndex<StorageUse>> storageUses; ///< by buffer
  std::map<int64_t, RangeIndex<Write>> storageWrites;    ///< by buffer: the writes of values that are made there
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_BUFFERASSIGNMENT_H
