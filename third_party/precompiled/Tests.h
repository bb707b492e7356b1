/// The headers that nearly every test includes, to be precompiled: those of compiler/, and GoogleTest. No source
/// includes this file itself.
#ifndef SPLITCAST_THIRD_PARTY_PRECOMPILED_TESTS_H
#define SPLITCAST_THIRD_PARTY_PRECOMPILED_TESTS_H

#include "third_party/precompiled/Compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#endif // SPLITCAST_THIRD_PARTY_PRECOMPILED_TESTS_H
