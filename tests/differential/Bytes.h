//===- Bytes.h - The oracle's tensors as a runtime holds them ---------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_BYTES_H
#define SPLITCAST_TESTS_DIFFERENTIAL_BYTES_H

#include "tests/reference/Tensor.h"

namespace splitcast::differential {

/// Row-major, in the types of the IR. Requires elements of f32, f64, i32 or i64.
std::string toBytes(const reference::Tensor &tensor);
reference::Tensor fromBytes(const sbp::Shape &shape, mlir::Type elementType, const std::string &bytes);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_BYTES_H
