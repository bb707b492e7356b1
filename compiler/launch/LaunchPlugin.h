//===- LaunchPlugin.h - Backends in libraries of their own -------------------------------------===//
//
// The libraries of a GPU take 150 MB of memory as soon as they are loaded, and not every machine has them. So the
// backend that needs them is a library of its own, libsplitcast-KIND.so, which a program opens if it is started with
// --device=KIND. There is one so far, cuda. It is the file that SPLITCAST_CUDA_BACKEND names; otherwise it lies beside
// the program, in the directory above, or where the build puts it. It is built from the same sources as the program,
// and is never unloaded.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_LAUNCHPLUGIN_H
#define SPLITCAST_COMPILER_LAUNCH_LAUNCHPLUGIN_H

#include "compiler/launch/LaunchBackend.h"

namespace splitcast {

/// The function that such a library exports, with C linkage. It takes *host, and sets *result to what a
/// LaunchBackendFactory would return.
using LaunchPluginEntry = void (*)(const LaunchBackendOptions *options, std::unique_ptr<runtime::Communicator> *host,
                                   absl::StatusOr<LaunchBackend> *result);
inline constexpr char kLaunchPluginEntry[] = "splitcast_launch_backend";

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_LAUNCHPLUGIN_H
