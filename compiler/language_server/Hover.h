//===- Hover.h - What an editor shows of a token ------------------------------===//
#ifndef SPLITCAST_COMPILER_LANGUAGE_SERVER_HOVER_H
#define SPLITCAST_COMPILER_LANGUAGE_SERVER_HOVER_H

#include "compiler/language_server/ModuleText.h"

#include <string>

namespace splitcast {

/// Returns Markdown about what the token stands for; "" where there is nothing to say. The module need not verify.
std::string hoverText(const Named &named);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LANGUAGE_SERVER_HOVER_H
