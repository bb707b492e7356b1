#include "tests/property/SessionTurns.h"

#include "tests/property/KindBuilder.h"
#include "tests/property/TrainingOptions.h"

using namespace mlir;

namespace splitcast::property {

namespace {

using differential::Turn;

constexpr const char *kTrain = "train", *kOther = "other";
constexpr size_t kSessions = 2;

/// A program of two functions that use the same variables. Both exchange something between ranks.
struct ProgramTraits {
  int64_t rows, width, outputs;
  bool hasBias, trainsTwice;
  ElementType type; ///< to which what the layer computes is rounded, so that no rank sums gradients of halves
  Optimizer optimizer;

  static ProgramTraits draw(Random &random, int64_t ranks) {
    return {ranks * random.between(1, 3),
            random.between(2, 4),
            random.between(1, 4),
            random.chance(50),
            random.chance(40),
            random.chance(40)   ? ElementType::F32
            : random.chance(50) ? ElementType::BF16
                                : ElementType::F16,
            randomOptimizer(random)};
  }
};

Tensor layer(KindBuilder &kind, const ProgramTraits &traits) {
  Tensor x = kind.input({traits.rows, traits.width}, split(0), kind.tenths());
  Tensor weight = kind.variable("fc.weight", {traits.width, traits.outputs}, {}, kind.tenths());
  Tensor y = matmul(x, weight);
  if (traits.type != ElementType::F32)
    y = cast(cast(y, traits.type), ElementType::F32);
  return traits.hasBias ? add(y, kind.variable("fc.bias", {traits.outputs}, {}, kind.tenths())) : y;
}

/// Calls each function as often as `calls` says.
GeneratedGraph build(Random &random, const ProgramTraits &traits, int64_t ranks, const std::vector<std::string> &calls,
                     MLIRContext &context) {
  KindBuilder kind(random, {{"dp", ranks}}, /*hasAttention=*/true); // hosts run sessions
  kind.calls = calls;
  kind.init = Init::uniform(-1.0, 1.0);
  Tensor y = layer(kind, traits);
  Tensor loss = mse(y, kind.input(y.shape(), split(0), kind.tenths()));
  kind.minimize(loss, traits.optimizer);
  kind.output("loss", loss);
  kind.function(kOther);
  Tensor z = layer(kind, traits), squares = mean(mul(z, z));
  if (traits.trainsTwice)
    kind.minimize(squares, traits.optimizer);
  kind.output("squares", squares);
  return kind.finish(Feature::SessionTurns, context, [](Ways &) {});
}

/// Whose turn it is, and of which function.
struct Choice {
  size_t session;
  std::string function;

  bool operator==(const Choice &other) const { return session == other.session && function == other.function; }
};

Choice drawChoice(Random &random) {
  const auto session = static_cast<size_t>(random.below(kSessions));
  return {session, random.chance(60) ? kTrain : kOther};
}

/// Each session has a turn; a fifth of the turns repeats the one before.
std::vector<Choice> drawOrder(Random &random) {
  std::vector<Choice> order;
  const int64_t count = random.between(4, 7);
  for (int64_t i = 0; i < count; ++i)
    order.push_back(i > 0 && random.chance(20) ? order.back() : drawChoice(random));
  for (size_t session = 0; session < kSessions; ++session)
    order.insert(order.begin() + random.below(static_cast<int64_t>(order.size()) + 1),
                 {session, random.chance(50) ? kTrain : kOther});
  return order;
}

/// Another turn: that of the other session, of the other function, or both.
Choice otherThan(Random &random, Choice choice) {
  const int64_t way = random.below(5);
  if (way != 0)
    choice.session = 1 - choice.session;
  if (way < 2)
    choice.function = choice.function == kTrain ? kOther : kTrain;
  return choice;
}

/// What one rank does, and what the others do: two turns in another order, one in place of another, or one left out.
std::pair<std::vector<Choice>, std::vector<Choice>> drawUnlike(Random &random) {
  const Choice one = drawChoice(random), other = otherThan(random, one);
  switch (random.below(3)) {
  case 0:
    return {{one, other}, {other, one}};
  case 1:
    return {{one}, {other}};
  default:
    return {{one, other, one}, {one, one, other}};
  }
}

/// Makes turns of choices, with the inputs of the experiments' calls, each of which is used in its order.
class TurnMaker {
public:
  explicit TurnMaker(const std::vector<const differential::Experiment *> &experiments) : experiments(experiments) {}

  std::vector<Turn> turnsOf(const std::vector<Choice> &order) {
    std::vector<Turn> turns;
    for (const Choice &choice : order)
      turns.push_back({choice.session, experiments[choice.session]->calls[used[choice.session]++]});
    return turns;
  }
  /// With the inputs of any call of the function.
  std::vector<Turn> anyTurnsOf(const std::vector<Choice> &order) const {
    std::vector<Turn> turns;
    for (const Choice &choice : order)
      turns.push_back({choice.session, *llvm::find_if(experiments[choice.session]->calls, [&](const auto &call) {
                         return call.function == choice.function;
                       })});
    return turns;
  }

private:
  std::vector<const differential::Experiment *> experiments;
  size_t used[kSessions] = {};
};

/// The functions of a session's turns, in their order.
std::vector<std::string> callsOf(const std::vector<Choice> &order, size_t session) {
  std::vector<std::string> calls;
  for (const Choice &choice : order)
    if (choice.session == session)
      calls.push_back(choice.function);
  return calls;
}

} // namespace

GeneratedGraph sessionTurns(Random &random, MLIRContext &context) {
  const int64_t ranks = random.between(2, 3);
  const bool isSameProgram = random.chance(75);
  const ProgramTraits traits = ProgramTraits::draw(random, ranks);
  const ProgramTraits others = isSameProgram ? traits : ProgramTraits::draw(random, ranks);
  const std::vector<Choice> order = drawOrder(random);
  const auto withAll = [&](size_t session) { // turns that are unlike may be of any function
    std::vector<std::string> calls = callsOf(order, session);
    calls.insert(calls.end(), {kTrain, kOther});
    return calls;
  };
  GeneratedGraph graph = build(random, traits, ranks, withAll(0), context);
  GeneratedGraph other = build(random, others, ranks, withAll(1), context);
  TurnMaker maker({&graph.experiment, &other.experiment});
  SessionTurns sessions;
  sessions.programs.push_back(
      {mlir::cast<ModuleOp>((*graph.module)->clone()), graph.configurations.front(), graph.tolerance(), 3});
  sessions.programs.push_back({std::move(other.module),
                               graph.configurations[isSameProgram && random.chance(75) ? 0 : 1], other.tolerance(), 4});
  sessions.turns = maker.turnsOf(order);
  const auto [ofRank, ofOthers] = drawUnlike(random);
  sessions.unlike = {random.below(ranks), maker.anyTurnsOf(ofRank), maker.anyTurnsOf(ofOthers)};
  graph.sessions = std::move(sessions);
  return graph;
}

} // namespace splitcast::property
