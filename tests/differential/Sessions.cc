#include "tests/differential/Sessions.h"

#include "tests/differential/PassList.h"
#include "tests/differential/Ranks.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace splitcast::differential {

absl::Status onSessions(int64_t ranks, const std::string &text, const OptionsOfRank &options, const SessionBody &body) {
  return onRanks(ranks, "", [&](runtime::Device &device, runtime::Communicator &communicator) {
    std::unique_ptr<mlir::MLIRContext> context = createContext();
    auto source = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    if (!source)
      return absl::InternalError("the module cannot be parsed");
    auto session = Session::create(*source, options(communicator.rank()), device, communicator);
    return session.ok() ? body(**session, communicator) : session.status();
  });
}

absl::Status onSessions(int64_t ranks, const std::string &text, const SessionOptions &options,
                        const SessionBody &body) {
  return onSessions(ranks, text, [&](int64_t) { return options; }, body);
}

} // namespace splitcast::differential
