#include "tests/differential/SessionRun.h"

#include "compiler/launch/Session.h"
#include "tests/differential/Bytes.h"
#include "tests/differential/Ranks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "absl/strings/str_cat.h"

using namespace mlir;

namespace splitcast::differential {

namespace {

/// What one rank says.
struct RankReport {
  std::map<std::string, std::string> initial, variables; ///< whole, bytes
  std::vector<std::vector<std::string>> results;         ///< by call
};

/// The elements of a box, row-major.
std::string cutBox(const std::string &whole, const sbp::Shape &shape, const std::vector<sbp::Interval> &box,
                   int64_t elementBytes) {
  std::string piece;
  sbp::Shape extents;
  for (const sbp::Interval &interval : box)
    extents.push_back(interval.count);
  for (int64_t i = 0; i < sbp::numElements(extents); ++i) {
    int64_t rest = i, from = 0, stride = 1;
    for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim) {
      from += (box[dim].begin + rest % extents[dim]) * stride;
      rest /= extents[dim];
      stride *= shape[dim];
    }
    piece.append(whole, from * elementBytes, elementBytes);
  }
  return piece;
}

SessionOptions optionsOf(const Configuration &configuration) {
  SessionOptions options;
  options.compile.zero = configuration.zero();
  options.seed = 5;
  return options;
}

class RankSession {
public:
  RankSession(RankReport &report, Session &session) : report(report), session(session) {}

  absl::Status run(const std::vector<Call> &calls) {
    absl::Status status = readAll(report.initial);
    for (const Call &call : calls)
      if (status.ok())
        status = runCall(call);
    return status.ok() ? readAll(report.variables) : status;
  }

private:
  absl::Status runCall(const Call &call) {
    absl::StatusOr<std::vector<TensorInfo>> inputs = session.inputs(call.function);
    absl::StatusOr<std::vector<TensorInfo>> outputs = session.outputs(call.function);
    if (!inputs.ok() || !outputs.ok())
      return inputs.ok() ? outputs.status() : inputs.status();
    absl::Status status;
    for (size_t i = 0; i < inputs->size() && status.ok(); ++i) {
      const TensorInfo &info = (*inputs)[i];
      std::string piece;
      for (const sbp::Box &box : info.boxes)
        piece += cutBox(toBytes(call.inputs[i]), info.shape, box, runtime::bytesOf(info.type));
      status = session.setInput(call.function, i, piece.data());
    }
    if (status.ok())
      status = session.run(call.function);
    report.results.emplace_back();
    for (size_t i = 0; i < outputs->size() && status.ok(); ++i) {
      std::string &result = report.results.back().emplace_back((*outputs)[i].localBytes, '\0');
      status = session.getOutput(call.function, i, result.data());
    }
    return status;
  }

  absl::Status readAll(std::map<std::string, std::string> &into) {
    for (const Session::Variable &variable : session.variables()) {
      std::string &bytes = into[variable.name];
      bytes.resize(sbp::numElements(variable.shape) * runtime::bytesOf(variable.type));
      if (absl::Status status = session.readVariable(variable.name, bytes.data()); !status.ok())
        return status;
    }
    return absl::OkStatus();
  }

  RankReport &report;
  Session &session;
};

absl::Status checkRanksAgree(const std::vector<RankReport> &reports) {
  for (size_t rank = 1; rank < reports.size(); ++rank)
    if (reports[rank].results != reports[0].results || reports[rank].initial != reports[0].initial ||
        reports[rank].variables != reports[0].variables)
      return absl::DataLossError(absl::StrCat("ranks 0 and ", rank, " disagree"));
  return absl::OkStatus();
}

/// The interpreter's types for what the sessions hold: state variables are made by a pass.
Variables tensorsOf(const std::map<std::string, std::string> &bytes, ModuleOp module) {
  Variables variables;
  for (const auto &[name, data] : bytes)
    if (auto variable = module.lookupSymbol<sbp::VariableOp>(name))
      variables.emplace(name,
                        fromBytes(sbp::shapeOf(variable.getType()), variable.getTensorType().getElementType(), data));
  return variables;
}

} // namespace

absl::StatusOr<SessionOutcome> runSessions(ModuleOp module, const std::vector<Call> &calls,
                                           const Configuration &configuration, const std::string &objectCacheDir) {
  std::string text = textOf(module);
  std::vector<RankReport> reports(sbp::placementOf(module).toAlgebra().numPositions());
  absl::Status status =
      onRanks(reports.size(), objectCacheDir, [&](runtime::Device &device, runtime::Communicator &communicator) {
        std::unique_ptr<MLIRContext> context = createContext();
        OwningOpRef<ModuleOp> own = parseSourceString<ModuleOp>(text, context.get());
        absl::StatusOr<std::unique_ptr<Session>> session =
            Session::create(*own, optionsOf(configuration), device, communicator);
        return session.ok() ? RankSession(reports[communicator.rank()], **session).run(calls) : session.status();
      });
  if (status.ok())
    status = checkRanksAgree(reports);
  if (!status.ok())
    return status;
  SessionOutcome result;
  result.initial = tensorsOf(reports[0].initial, module);
  result.outcome.variables = tensorsOf(reports[0].variables, module);
  for (const auto &[call, results] : llvm::zip_equal(calls, reports[0].results)) {
    const auto types = module.lookupSymbol<func::FuncOp>(call.function).getResultTypes();
    result.outcome.results.emplace_back();
    for (const auto &[type, bytes] : llvm::zip_equal(types, results)) {
      auto tensor = cast<RankedTensorType>(type);
      result.outcome.results.back().push_back(fromBytes(tensor.getShape(), tensor.getElementType(), bytes));
    }
  }
  return result;
}

} // namespace splitcast::differential
