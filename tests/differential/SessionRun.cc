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

SessionOptions optionsOf(const SessionProgram &program) {
  SessionOptions options;
  options.compile.zero = program.configuration.zero();
  options.seed = program.seed;
  return options;
}

class RankSession {
public:
  RankSession(RankReport &report, Session &session) : report(report), session(session) {}

  absl::Status readInitial() { return readAll(report.initial); }
  absl::Status readVariables() { return readAll(report.variables); }

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

private:
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

/// The sessions of one rank.
class RankSessions {
public:
  RankSessions(std::vector<RankReport> &reports, runtime::Device &device, runtime::Communicator &communicator)
      : reports(reports), device(device), communicator(communicator) {}

  /// `texts` are those of the programs' modules, which the threads of other ranks read, too.
  absl::Status create(const std::vector<SessionProgram> &programs, const std::vector<std::string> &texts) {
    for (const auto &[program, text, report] : llvm::zip_equal(programs, texts, reports)) {
      contexts.push_back(createContext());
      OwningOpRef<ModuleOp> own = parseSourceString<ModuleOp>(text, contexts.back().get());
      absl::StatusOr<std::unique_ptr<Session>> made = Session::create(*own, optionsOf(program), device, communicator);
      if (!made.ok())
        return made.status();
      sessions.push_back(*std::move(made));
      ranks.emplace_back(report, *sessions.back());
    }
    return absl::OkStatus();
  }

  absl::Status take(const std::vector<Turn> &turns) {
    absl::Status status = forEach(&RankSession::readInitial);
    if (status.ok())
      status = callAll(turns);
    return status.ok() ? forEach(&RankSession::readVariables) : status;
  }

  absl::Status callAll(const std::vector<Turn> &turns) {
    absl::Status status;
    for (const Turn &turn : turns)
      if (status.ok())
        status = ranks[turn.session].runCall(turn.call);
    return status;
  }

private:
  absl::Status forEach(absl::Status (RankSession::*read)()) {
    absl::Status status;
    for (RankSession &rank : ranks)
      if (status.ok())
        status = (rank.*read)();
    return status;
  }

  std::vector<RankReport> &reports; ///< by program
  runtime::Device &device;
  runtime::Communicator &communicator;
  std::vector<std::unique_ptr<MLIRContext>> contexts; ///< which outlive the sessions
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<RankSession> ranks;
};

absl::Status checkRanksAgree(const std::vector<std::vector<RankReport>> &reports) {
  for (size_t rank = 1; rank < reports.size(); ++rank)
    for (const auto &[own, first] : llvm::zip_equal(reports[rank], reports[0]))
      if (own.results != first.results || own.initial != first.initial || own.variables != first.variables)
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

/// `turns` are those of all sessions; the report has the results of the session `number`.
SessionOutcome outcomeOf(const RankReport &report, ModuleOp module, size_t number, const std::vector<Turn> &turns) {
  SessionOutcome result;
  result.initial = tensorsOf(report.initial, module);
  result.outcome.variables = tensorsOf(report.variables, module);
  for (const Turn &turn : turns) {
    if (turn.session != number)
      continue;
    const std::vector<std::string> &results = report.results[result.outcome.results.size()];
    const auto types = module.lookupSymbol<func::FuncOp>(turn.call.function).getResultTypes();
    result.outcome.results.emplace_back();
    for (const auto &[type, bytes] : llvm::zip_equal(types, results)) {
      auto tensor = cast<RankedTensorType>(type);
      result.outcome.results.back().push_back(fromBytes(tensor.getShape(), tensor.getElementType(), bytes));
    }
  }
  return result;
}

} // namespace

absl::StatusOr<TurnsOutcome> runInTurns(const std::vector<SessionProgram> &programs, const std::vector<Turn> &turns,
                                        const std::optional<UnlikeTurns> &unlike, const std::string &objectCacheDir) {
  const int64_t numRanks = sbp::placementOf(programs.front().module).toAlgebra().numPositions();
  std::vector<std::string> texts;
  for (const SessionProgram &program : programs)
    texts.push_back(textOf(program.module));
  TurnsOutcome result;
  result.unlike.resize(unlike ? numRanks : 0);
  std::vector<std::vector<RankReport>> reports(numRanks, std::vector<RankReport>(programs.size()));
  absl::Status status =
      onRanks(numRanks, objectCacheDir, [&](runtime::Device &device, runtime::Communicator &communicator) {
        const int64_t rank = communicator.rank();
        RankSessions sessions(reports[rank], device, communicator);
        absl::Status alike = sessions.create(programs, texts);
        if (alike.ok())
          alike = sessions.take(turns);
        if (alike.ok() && unlike)
          result.unlike[rank] = sessions.callAll(rank == unlike->rank ? unlike->ofRank : unlike->ofOthers);
        return alike;
      });
  if (!status.ok())
    return status;
  for (std::vector<RankReport> &ofRank : reports) // results of turns that are unlike are nobody's
    for (size_t number = 0; number < programs.size(); ++number)
      ofRank[number].results.resize(llvm::count_if(turns, [&](const Turn &turn) { return turn.session == number; }));
  if (status = checkRanksAgree(reports); !status.ok())
    return status;
  for (size_t number = 0; number < programs.size(); ++number)
    result.sessions.push_back(outcomeOf(reports[0][number], programs[number].module, number, turns));
  return result;
}

absl::StatusOr<SessionOutcome> runSessions(ModuleOp module, const std::vector<Call> &calls,
                                           const Configuration &configuration, const std::string &objectCacheDir) {
  constexpr uint64_t kSeed = 5;
  std::vector<Turn> turns;
  for (const Call &call : calls)
    turns.push_back({0, call});
  absl::StatusOr<TurnsOutcome> outcome =
      runInTurns({{module, configuration, kSeed}}, turns, std::nullopt, objectCacheDir);
  return outcome.ok() ? absl::StatusOr<SessionOutcome>(std::move(outcome->sessions.front())) : outcome.status();
}

} // namespace splitcast::differential
