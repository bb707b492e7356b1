//===- LibraryConfig.h - Reads a library call's configuration ----------------===//
#ifndef SPLITCAST_RUNTIME_HOST_LIBRARYCONFIG_H
#define SPLITCAST_RUNTIME_HOST_LIBRARYCONFIG_H

#include "runtime/api/ElementType.h"

#include "absl/status/status.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <set>
#include <string>

namespace splitcast::runtime {

/// Reads key by key; the first thing wrong is kept for status(), and values read after it mean nothing.
class LibraryConfig {
public:
  LibraryConfig(std::string call, mlir::DictionaryAttr config) : call(std::move(call)), config(config) {}

  /// An i64 of at least 0.
  int64_t count(const std::string &key);
  /// A boolean; false when missing.
  bool flag(const std::string &key);
  ElementType type(const std::string &key);
  std::string text(const std::string &key);
  /// The bytes of a x b elements.
  int64_t bytes(int64_t a, int64_t b, ElementType type);

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

#endif // SPLITCAST_RUNTIME_HOST_LIBRARYCONFIG_H
