//===- LargeLogits.h - Divided classes with large logits: see Kinds.h -------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_LARGELOGITS_H
#define SPLITCAST_TESTS_PROPERTY_LARGELOGITS_H

#include "tests/property/GraphGenerator.h"
#include "tests/property/Random.h"

namespace splitcast::property {

GeneratedGraph largeLogits(Random &random, mlir::MLIRContext &context);

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_LARGELOGITS_H
