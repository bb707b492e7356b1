//===- LaunchPlugin.h - Backends in libraries of their own -------------------------------------===//
//
// The libraries of a GPU take 150 MB of memory as soon as they are loaded, and are not on every machine: the backend
// that needs them is libsplitcast-KIND.so, which is opened when a program is started with --device=KIND.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_LAUNCHPLUGIN_H
#define SPLITCAST_COMPILER_LAUNCH_LAUNCHPLUGIN_H

#include "compiler/launch/LaunchBackend.h"

namespace splitcast {

/// What such a library exports, with C's linkage. Takes *host, and sets *result as a LaunchBackendFactory would return.
using LaunchPluginEntry = void (*)(const LaunchBackendOptions *options, std::unique_ptr<runtime::Communicator> *host,
                                   absl::StatusOr<LaunchBackend> *result);
inline constexpr char kLaunchPluginEntry[] = "splitcast_launch_backend";

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_LAUNCHPLUGIN_H
