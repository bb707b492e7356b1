/// The headers that nearly every source of compiler/ includes, to be precompiled: those of the passes and of the
/// runtime. No source includes this file itself.
#ifndef SPLITCAST_THIRD_PARTY_PRECOMPILED_COMPILER_H
#define SPLITCAST_THIRD_PARTY_PRECOMPILED_COMPILER_H

#include "third_party/precompiled/Dialects.h"
#include "third_party/precompiled/Runtime.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#endif // SPLITCAST_THIRD_PARTY_PRECOMPILED_COMPILER_H
