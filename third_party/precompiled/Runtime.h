/// The headers that nearly every source of the runtime includes, to be precompiled: the interfaces in runtime/api, the
/// dialect of plans, and Abseil's statuses and strings. No source includes this file itself.
#ifndef SPLITCAST_THIRD_PARTY_PRECOMPILED_RUNTIME_H
#define SPLITCAST_THIRD_PARTY_PRECOMPILED_RUNTIME_H

#include "dialects/exec/Exec.h"
#include "runtime/api/CallAs.h"
#include "runtime/api/Communicator.h"
#include "runtime/api/Device.h"
#include "runtime/api/ElementType.h"
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/Job.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/api/Transport.h"
#include "runtime/api/TransportChecks.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#endif // SPLITCAST_THIRD_PARTY_PRECOMPILED_RUNTIME_H
