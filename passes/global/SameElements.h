//===- SameElements.h - Values that are computed again ------------------------------===//
//
// Recomputation, and users, compute values again that exist already. Such a repeat must be no second source of facts:
// where it lies, and how a micro-batch cuts it, is decided for the first value of its elements, the original.
//
//   %h = nn.tanh %x                  the original of %k
//   %f = sbp.fence %x in %backward   its original is %x
//   %k = nn.tanh %f
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_SAMEELEMENTS_H
#define SPLITCAST_PASSES_GLOBAL_SAMEELEMENTS_H

#include "dialects/sbp/Sbp.h"

#include <unordered_map>

namespace splitcast {

/// The originals of the values of one block. Two results have the same elements if their ops have the same name,
/// attributes and types of results, and operands of the same elements. So has a fence that brings nothing into an
/// update and its input, and so have two reads of a variable between which nothing assigns to it. The time to build it
/// grows with the number of operands.
class SameElements {
public:
  enum class Types {
    Whole,    ///< types with other signatures are other types, and the result of a boxing is a value of its own
    Elements, ///< signatures do not count: the result of a boxing has the elements of its input
  };

  explicit SameElements(mlir::Block &block, Types types = Types::Whole);

  /// Returns the first value of the block with the elements of this one; mostly the value itself.
  mlir::Value originalOf(mlir::Value value) const;

private:
  using Key = llvm::SmallVector<const void *, 8>; ///< what decides the elements of an op's results
  struct KeyHash {
    size_t operator()(const Key &key) const { return llvm::hash_combine_range(key.begin(), key.end()); }
  };

  void note(mlir::Operation *op);
  const void *keyOf(mlir::Type type) const;

  Types types;
  llvm::DenseMap<mlir::Value, mlir::Value> originals; ///< of repeats only
  llvm::DenseMap<mlir::Attribute, mlir::Value> reads; ///< by variable: the first read since it was assigned
  std::unordered_map<Key, mlir::Operation *, KeyHash> made;
};

/// Erases the ops of a block that nothing needs, from the last to the first. A value needs its operands and its
/// original, about which decisions are taken.
void eraseUnneeded(mlir::Block &block);

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_SAMEELEMENTS_H
