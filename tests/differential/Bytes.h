//===- Bytes.h - Converts the oracle's tensors to bytes of a runtime and back -----===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_BYTES_H
#define SPLITCAST_TESTS_DIFFERENTIAL_BYTES_H

#include "tests/reference/Tensor.h"

namespace splitcast::differential {

/// The bytes are row-major, in the types of the IR. Elements must be f32, f64, i32 or i64.
std::string toBytes(const reference::Tensor &tensor);
reference::Tensor fromBytes(const sbp::Shape &shape, mlir::Type elementType, const std::string &bytes);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_BYTES_H
