//===- ZeroTexts.h - The options of 'enable-zero', of passes and pipelines --------===//
#ifndef SPLITCAST_PASSES_GLOBAL_ZEROTEXTS_H
#define SPLITCAST_PASSES_GLOBAL_ZEROTEXTS_H

#include "dialects/sbp/algebra/Policy.h"

#include "mlir/Support/LLVM.h"
#include "llvm/Support/CommandLine.h"

#include <memory>
#include <vector>

namespace splitcast {

/// One text option for each option of the table in dialects/sbp/algebra/Policy.h. `Option` is the parent's own class of
/// text options, which registers itself with the parent.
template <typename Option> class ZeroTexts {
public:
  template <typename Parent> ZeroTexts(Parent &parent, bool ofStorageOnly) {
    for (const sbp::OptionInfo &info : infos())
      if (info.isOfStorage || !ofStorageOnly)
        options.push_back({&info, std::make_unique<Option>(parent, info.name, llvm::cl::desc(info.help),
                                                           llvm::cl::init(info.standard))});
  }

  /// Sets the values of the options in `result`. Returns an error or nothing.
  std::optional<std::string> parse(sbp::ZeroOptions *result) const {
    for (const auto &[info, option] : options)
      if (std::optional<std::string> error = sbp::setZeroOption(info->name, option->getValue(), result))
        return error;
    return std::nullopt;
  }

  void set(const sbp::ZeroOptions &values) {
    for (auto &[info, option] : options)
      *option = sbp::zeroOptionText(info->name, values);
  }

private:
  /// The infos outlive the options, which point to their texts.
  static const std::vector<sbp::OptionInfo> &infos() {
    static const std::vector<sbp::OptionInfo> all = sbp::zeroOptionInfos();
    return all;
  }

  std::vector<std::pair<const sbp::OptionInfo *, std::unique_ptr<Option>>> options;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_ZEROTEXTS_H
