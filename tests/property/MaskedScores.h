//===- MaskedScores.h - Scores of keys that are not seen: see Kinds.h -------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_MASKEDSCORES_H
#define SPLITCAST_TESTS_PROPERTY_MASKEDSCORES_H

#include "tests/property/GraphGenerator.h"
#include "tests/property/Random.h"

namespace splitcast::property {

GeneratedGraph maskedScores(Random &random, mlir::MLIRContext &context);

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_MASKEDSCORES_H
