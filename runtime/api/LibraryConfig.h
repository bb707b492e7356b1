//===- LibraryConfig.h - Reads a library call's configuration ----------------===//
#ifndef SPLITCAST_RUNTIME_API_LIBRARYCONFIG_H
#define SPLITCAST_RUNTIME_API_LIBRARYCONFIG_H

#include "runtime/api/ElementType.h"

#include "absl/status/status.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <optional>
#include <set>
#include <string>

namespace splitcast::runtime {

/// Reads key by key; the first thing wrong is kept for status(), and values read after it mean nothing.
class LibraryConfig {
public:
  LibraryConfig(std::string call, mlir::DictionaryAttr config) : call(std::move(call)), config(config) {}

  /// An i64 of at least 0.
  int64_t count(const std::string &key);
  /// As count, or `otherwise` when missing.
  int64_t countOr(const std::string &key, int64_t otherwise);
  /// An i64, or nothing when missing.
  std::optional<int64_t> optionalNumber(const std::string &key);
  /// An f64.
  double real(const std::string &key);
  /// A boolean; false when missing.
  bool flag(const std::string &key);
  ElementType type(const std::string &key);
  bool has(const std::string &key) const { return config && config.get(key); }
  std::string text(const std::string &key);
  /// The bytes of a tensor of this shape.
  int64_t bytes(llvm::ArrayRef<int64_t> shape, ElementType type);

  /// InvalidArgument, naming call and key: a key that is missing, has another type, or that the call does not know.
  absl::Status status();

private:
  mlir::Attribute find(const std::string &key, const char *expected);
  void fail(const std::string &message);

  std::string call;
  mlir::DictionaryAttr config;
  std::set<std::string> known;
  absl::Status firstError;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_LIBRARYCONFIG_H
