#include "tests/dialects/sbp/algebra/SolverGraphs.h"

#include "dialects/sbp/algebra/Sizes.h"
#include "tests/dialects/sbp/algebra/Reference.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace splitcast::sbp {

Graph::Graph(const std::vector<int64_t> &mesh) { problem.placement = meshOf(mesh); }

int Graph::given(Shape shape, NdSbp sbp) {
  problem.tensors.push_back({std::move(shape), 4, std::move(sbp)});
  return problem.tensors.size() - 1;
}

int Graph::sameAs(int tensor) {
  problem.tensors.push_back({shapeOf(tensor), 4, {}, tensor});
  return problem.tensors.size() - 1;
}

std::vector<int> Graph::apply(LoopSpec spec, const std::vector<int> &operands) {
  std::vector<int> results;
  for (const TensorFactors &result : spec.results) {
    Shape shape;
    for (const std::vector<int> &dim : result) {
      shape.push_back(1);
      for (int factor : dim)
        shape.back() *= spec.factors[factor].extent;
    }
    results.push_back(given(shape, {}));
  }
  SignatureOp op;
  op.spec = std::move(spec);
  op.operands = operands;
  op.results = results;
  problem.ops.push_back(std::move(op));
  return results;
}

namespace {

/// A factor for each dimension.
TensorFactors addLoops(LoopSpec &spec, const Shape &shape) {
  TensorFactors loops;
  for (int64_t extent : shape)
    loops.push_back({spec.addFactor(extent)});
  return loops;
}

} // namespace

int Graph::constant(Shape shape) {
  LoopSpec spec;
  spec.results = {addLoops(spec, shape)};
  return apply(std::move(spec), {})[0];
}

int Graph::unary(int x, bool isLinear) {
  LoopSpec spec;
  TensorFactors loops = addLoops(spec, shapeOf(x));
  spec.operands = {loops};
  spec.results = {loops};
  spec.anyShape = true;
  if (isLinear)
    spec.linear = {{{0}, {}}};
  return apply(std::move(spec), {x})[0];
}

int Graph::binary(int x, int y, Linearity linearity) {
  LoopSpec spec;
  TensorFactors loops = addLoops(spec, shapeOf(x));
  spec.operands = {loops, loops};
  spec.results = {loops};
  spec.anyShape = true;
  if (linearity == Linearity::Each)
    spec.linear = {{{0}, {}}, {{1}, {}}};
  if (linearity == Linearity::Together)
    spec.linear = {{{0, 1}, {}}};
  return apply(std::move(spec), {x, y})[0];
}

int Graph::matmul(int x, int y) {
  LoopSpec spec;
  int m = spec.addFactor(shapeOf(x)[0]), n = spec.addFactor(shapeOf(y)[1]),
      k = spec.addFactor(shapeOf(x)[1], FactorKind::Sum);
  spec.operands = {{{m}, {k}}, {{k}, {n}}};
  spec.results = {{{m}, {n}}};
  spec.linear = {{{0}, {}}, {{1}, {}}};
  return apply(std::move(spec), {x, y})[0];
}

int Graph::sum(int x, int64_t dim) {
  LoopSpec spec;
  TensorFactors loops = addLoops(spec, shapeOf(x));
  spec.factors[loops[dim][0]].kind = FactorKind::Sum;
  spec.operands = {loops};
  loops.erase(loops.begin() + dim);
  spec.results = {loops};
  spec.linear = {{{0}, {}}};
  return apply(std::move(spec), {x})[0];
}

int Graph::softmax(int x, int64_t dim) {
  LoopSpec spec;
  TensorFactors loops = addLoops(spec, shapeOf(x));
  spec.factors[loops[dim][0]].kind = FactorKind::Whole;
  spec.operands = {loops};
  spec.results = {loops};
  return apply(std::move(spec), {x})[0];
}

int Graph::transpose(int x) {
  LoopSpec spec;
  TensorFactors loops = addLoops(spec, shapeOf(x));
  spec.operands = {loops};
  std::reverse(loops.begin(), loops.end());
  spec.results = {loops};
  spec.linear = {{{0}, {}}};
  return apply(std::move(spec), {x})[0];
}

int Graph::merge(int x) {
  LoopSpec spec;
  TensorFactors loops = addLoops(spec, shapeOf(x));
  spec.operands = {loops};
  loops[0].push_back(loops[1][0]);
  loops.erase(loops.begin() + 1);
  spec.results = {loops};
  spec.linear = {{{0}, {}}};
  return apply(std::move(spec), {x})[0];
}

int Graph::split(int x, int64_t a) {
  LoopSpec spec;
  Shape shape = shapeOf(x);
  shape[0] /= a;
  shape.insert(shape.begin(), a);
  TensorFactors loops = addLoops(spec, shape);
  spec.results = {loops};
  loops[0].push_back(loops[1][0]);
  loops.erase(loops.begin() + 1);
  spec.operands = {loops};
  spec.linear = {{{0}, {}}};
  return apply(std::move(spec), {x})[0];
}

int Graph::broadcast(int x, int64_t extent) {
  LoopSpec spec;
  TensorFactors loops = addLoops(spec, shapeOf(x));
  spec.operands = {loops};
  loops.insert(loops.begin(), {spec.addFactor(extent)});
  spec.results = {loops};
  spec.linear = {{{0}, {}}};
  return apply(std::move(spec), {x})[0];
}

std::pair<int, int> Graph::normalize(int x, int64_t dim) {
  LoopSpec spec;
  TensorFactors loops = addLoops(spec, shapeOf(x));
  spec.factors[loops[dim][0]].kind = FactorKind::Whole;
  spec.operands = {loops};
  TensorFactors without = loops;
  without.erase(without.begin() + dim);
  spec.results = {loops, without};
  spec.linear = {{{0}, {1}}};
  std::vector<int> results = apply(std::move(spec), {x});
  return {results[0], results[1]};
}

//===----------------------------------------------------------------------===//
// At random
//===----------------------------------------------------------------------===//

namespace {

class Generator {
public:
  Generator(std::mt19937_64 &engine, GraphKind kind, const std::vector<int64_t> &mesh)
      : engine(engine), kind(kind), graph(mesh), axes(mesh.size()) {}

  Problem run(size_t ops) {
    const Shape first = randomShape(2);
    for (int i = 0; i < (kind == GraphKind::Tree ? 3 : 1); ++i)
      open.push_back(randomGiven(first));
    while (graph.problem.ops.size() < ops)
      addOp();
    std::set<int> used;
    for (const SignatureOp &op : graph.problem.ops)
      used.insert(op.operands.begin(), op.operands.end());
    for (int tensor = 0; tensor < static_cast<int>(graph.problem.tensors.size()); ++tensor)
      if (!used.count(tensor) || draw(6) == 0)
        addDemand(tensor);
    for (SignatureOp &op : graph.problem.ops) {
      op.takesPartial = draw(8) != 0;
      if (draw(8) == 0)
        for (int result : op.results)
          op.pinned.push_back(draw(2) ? randomSignature(graph.shapeOf(result)) : NdSbp());
    }
    return graph.problem;
  }

private:
  int64_t draw(int64_t below) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(below)); }

  Shape randomShape(size_t rank) {
    Shape shape;
    for (size_t dim = 0; dim < rank; ++dim)
      shape.push_back(std::vector<int64_t>{1, 2, 3, 4, 6, 7, 12, 64}[draw(8)]);
    return shape;
  }

  NdSbp randomSignature(const Shape &shape) {
    std::vector<NdSbp> all = draw(4) ? allSignatures(axes, entriesOf(shape.size(), false))
                                     : signaturesWithUnits(shape, graph.problem.placement, false);
    return all[draw(all.size())];
  }

  int randomGiven(const Shape &shape) {
    NdSbp sbp = randomSignature(shape);
    if (draw(8) == 0)
      sbp[draw(sbp.size())] = Sbp::partial();
    if (draw(8) == 0)
      addSlot(shape, sbp);
    const int tensor = graph.given(shape, withoutIdleUnits(shape, sbp, graph.problem.placement));
    graph.problem.tensors[tensor].keepsSplits = tensor % 3 == 1;
    return tensor;
  }

  /// Along one axis, of what the others leave.
  void addSlot(const Shape &shape, NdSbp &sbp) {
    Sbp &entry = sbp[draw(sbp.size())];
    entry = Sbp::broadcast();
    const Placement &placement = graph.problem.placement;
    if (!unitsFit(shape, sbp, placement))
      return;
    const int64_t elements = maxBoxElements(shape, sbp, placement);
    entry = Sbp::flat({"g", 4, alignUp(elements + 4, placement.numPositions())});
  }

  void addDemand(int tensor) {
    NdSbp orAs = draw(4) ? NdSbp() : randomSignature(graph.shapeOf(tensor));
    graph.demand(tensor, draw(3) ? randomSignature(graph.shapeOf(tensor)) : NdSbp(), orAs);
  }

  /// A tensor to go on from. Where each may be used once only, it is taken out.
  int take() {
    if (open.empty())
      open.push_back(randomGiven(randomShape(1 + draw(3))));
    const size_t at = kind == GraphKind::Chain ? open.size() - 1 : draw(open.size());
    const int tensor = open[at];
    tree = treeOf(tensor);
    if (kind == GraphKind::Chain || (kind == GraphKind::Tree && draw(4)))
      open.erase(open.begin() + at);
    return tensor;
  }

  /// A number for the tree that the tensor is in.
  int treeOf(int tensor) {
    for (int next = trees.size(); next <= tensor; ++next)
      trees.push_back(next);
    return trees[tensor];
  }

  /// Of this shape; in a chain a new one, in a tree one of another tree, which this op joins.
  int takeOf(const Shape &shape) {
    if (kind == GraphKind::Tree)
      for (size_t at = 0; at < open.size(); ++at)
        if (const int tensor = open[at]; graph.shapeOf(tensor) == shape && treeOf(tensor) != tree) {
          const int joined = treeOf(tensor);
          std::replace(trees.begin(), trees.end(), joined, tree);
          open.erase(open.begin() + at);
          return tensor;
        }
    if (kind == GraphKind::Any)
      for (int tensor : open)
        if (graph.shapeOf(tensor) == shape && draw(4))
          return tensor;
    return draw(5) ? randomGiven(shape) : graph.constant(shape);
  }

  void addOp() {
    const int x = take();
    const Shape shape = graph.shapeOf(x);
    const size_t rank = shape.size();
    switch (draw(10)) {
    case 0:
    case 1:
      return made(graph.unary(x, draw(2)));
    case 2:
    case 3:
      return made(graph.binary(x, takeOf(shape), static_cast<Linearity>(draw(3))));
    case 4:
      if (rank == 2)
        return made(graph.matmul(x, takeOf({shape[1], randomShape(1)[0]})));
      return made(graph.unary(x, true));
    case 5:
      return made(rank > 0 ? graph.sum(x, draw(rank)) : graph.broadcast(x, 6));
    case 6:
      return made(rank > 0 ? graph.softmax(x, draw(rank)) : graph.broadcast(x, 7));
    case 7:
      if (rank == 0)
        return made(graph.unary(x, false));
      std::tie(lastOfTwo, std::ignore) = graph.normalize(x, draw(rank));
      made(lastOfTwo);
      return made(lastOfTwo + 1);
    case 8:
      return made(rank >= 2 ? graph.merge(x) : graph.broadcast(x, 4));
    default:
      if (rank >= 1 && rank <= 2 && shape[0] % 2 == 0)
        return made(graph.split(x, shape[0] / 2));
      return made(graph.transpose(x));
    }
  }

  void made(int tensor) {
    treeOf(tensor);
    trees[tensor] = tree;
    open.push_back(draw(10) ? tensor : graph.sameAs(tensor));
    treeOf(open.back());
    trees[open.back()] = tree;
  }

  std::mt19937_64 &engine;
  const GraphKind kind;
  Graph graph;
  const size_t axes;
  std::vector<int> open;  ///< may be used
  std::vector<int> trees; ///< per tensor
  int tree = 0;           ///< of the op that is being added
  int lastOfTwo = 0;
};

} // namespace

Problem randomProblem(std::mt19937_64 &engine, GraphKind kind, size_t ops, const std::vector<int64_t> &mesh) {
  return Generator(engine, kind, mesh).run(ops);
}

namespace {

class Repeater {
public:
  Repeater(std::mt19937_64 &engine, Problem &problem) : engine(engine), problem(problem) {
    for (size_t op = 0; op < problem.ops.size(); ++op)
      originals.push_back(static_cast<int>(op));
  }

  std::vector<int> run(int count) {
    for (int i = 0; i < count; ++i)
      repeatOne();
    return originals;
  }

private:
  int draw(size_t below) { return static_cast<int>(engine() % below); }

  int firstOf(int tensor) const {
    const int same = problem.tensors[tensor].sameElements;
    return same < 0 ? tensor : same;
  }

  /// Repeats an op that makes an operand of a random op, if there is one.
  void repeatOne() {
    const int user = draw(problem.ops.size());
    if (problem.ops[user].operands.empty())
      return;
    int &use = problem.ops[user].operands[draw(problem.ops[user].operands.size())];
    const auto maker = std::find_if(problem.ops.begin(), problem.ops.end(), [&](const SignatureOp &op) {
      return std::find(op.results.begin(), op.results.end(), use) != op.results.end();
    });
    if (maker == problem.ops.end())
      return;
    SignatureOp copy = *maker;
    for (int &operand : copy.operands)
      operand = draw(2) ? operand : fenced(operand);
    for (int &result : copy.results) {
      TensorInfo info = problem.tensors[result];
      info.sameElements = firstOf(result);
      problem.tensors.push_back(info);
      const int again = static_cast<int>(problem.tensors.size()) - 1;
      if (result == use)
        use = again;
      result = again;
    }
    originals.insert(originals.begin() + user, originals[maker - problem.ops.begin()]);
    problem.ops.insert(problem.ops.begin() + user, std::move(copy));
  }

  int fenced(int tensor) {
    TensorInfo info = problem.tensors[tensor];
    info.given = {};
    info.sameAs = tensor;
    info.sameElements = firstOf(tensor);
    problem.tensors.push_back(info);
    return static_cast<int>(problem.tensors.size()) - 1;
  }

  std::mt19937_64 &engine;
  Problem &problem;
  std::vector<int> originals;
};

} // namespace

std::vector<int> addRepeats(std::mt19937_64 &engine, Problem &problem, int count) {
  return Repeater(engine, problem).run(count);
}

namespace {

class Training {
public:
  Training(const std::vector<int64_t> &mesh, const Sbp &update) : graph(mesh), plain(mesh.size()), update(mesh.size()) {
    this->update[0] = update;
  }

  Problem run(int layers) {
    NdSbp batch = plain;
    batch[0] = Sbp::split(0);
    int x = graph.given({30, 16}, batch);
    for (int i = 0; i < layers; ++i)
      x = forward(x);
    int gradient = graph.binary(x, graph.given({30, 16}, batch), Linearity::Together);
    for (int i = layers; i-- > 0;)
      gradient = backward(this->layers[i], gradient);
    graph.demand(graph.sum(graph.sum(x, 1), 0), {});
    return graph.problem;
  }

private:
  struct Layer {
    int x, normal, scale, hidden, act, up, down;
  };

  int forward(int x) {
    Layer layer;
    layer.x = x;
    layer.up = graph.given({16, 64}, plain);
    layer.down = graph.given({64, 16}, plain);
    std::tie(layer.normal, layer.scale) = graph.normalize(x, 1);
    layer.hidden = graph.matmul(layer.normal, layer.up);
    layer.act = graph.unary(layer.hidden, false);
    const int y = graph.matmul(layer.act, layer.down);
    layers.push_back(layer);
    return graph.binary(x, y, Linearity::Together);
  }

  int backward(const Layer &layer, int gradient) {
    updateBy(layer.down, graph.matmul(graph.transpose(layer.act), gradient));
    int ofAct = graph.matmul(gradient, graph.transpose(layer.down));
    int ofHidden = graph.binary(ofAct, graph.unary(layer.hidden, false), Linearity::Each);
    updateBy(layer.up, graph.matmul(graph.transpose(layer.normal), ofHidden));
    int ofNormal = graph.matmul(ofHidden, graph.transpose(layer.up));
    int ofX = graph.binary(ofNormal, layer.x, Linearity::Each);
    return graph.binary(gradient, ofX, Linearity::Together);
  }

  /// A momentum that lies as the update does; and the fences of gradient and variable.
  void updateBy(int variable, int gradient) {
    const Shape shape = graph.shapeOf(variable);
    graph.demand(gradient, update);
    graph.demand(variable, update);
    const int momentum =
        value(graph.binary(graph.given(shape, update), graph.given(shape, update), Linearity::Together));
    const int step = value(graph.unary(momentum, true));
    const int next = value(graph.binary(graph.given(shape, update), step, Linearity::Together));
    graph.demand(momentum, update);
    graph.demand(next, plain, update);
    graph.demand(graph.sum(graph.sum(next, 0), 0), {});
  }

  int value(int tensor) {
    graph.lastOp().takesPartial = false;
    return tensor;
  }

  Graph graph;
  const NdSbp plain;
  NdSbp update;
  std::vector<Layer> layers;
};

} // namespace

Problem trainingStep(int layers, const std::vector<int64_t> &mesh, const Sbp &update) {
  return Training(mesh, update).run(layers);
}

//===----------------------------------------------------------------------===//
// What holds for any assignment
//===----------------------------------------------------------------------===//

namespace {

bool hasPartial(const NdSbp &sbp) {
  return std::any_of(sbp.begin(), sbp.end(), [](const Sbp &entry) { return entry.isPartial(); });
}

const NdSbp &pinnedOf(const SignatureOp &op, size_t result) {
  static const NdSbp open;
  return op.pinned.empty() ? open : op.pinned[result];
}

/// Finds the loops of each axis again from the row's own entries.
bool hasLegalRows(const SignatureOp &op, const OpRow &row, const Placement &placement) {
  LoopSpec spec = op.spec;
  for (size_t axis = 0; axis < placement.axes.size(); ++axis) {
    std::vector<Sbp> operands, results;
    for (const NdSbp &sbp : row.operands)
      operands.push_back(sbp[axis]);
    for (const NdSbp &sbp : row.results)
      results.push_back(sbp[axis]);
    const int64_t size = placement.axes[axis].size;
    if (!isLegal(spec, size, operands, results))
      return false;
    for (const OpSignature &each : deriveSignatures(spec, size, operands, results))
      if (each.operands == operands && each.results == results) {
        splitLoops(spec, each, size);
        break;
      }
  }
  return true;
}

std::string findIllegalOp(const Problem &problem, const Assignment &assignment, size_t index) {
  const SignatureOp &op = problem.ops[index];
  const OpChoice &choice = assignment.ops[index];
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const NdSbp &from = assignment.tensors[op.operands[i]], &to = choice.row.operands[i];
    if (from.empty() ? hasPartial(to) : to.empty() || !isLegalBoxing(from, to) || !slotsFit(from, to))
      return "operand " + std::to_string(i) + " cannot be boxed to the row";
    if (!op.takesPartial && hasPartial(to))
      return "takes addends";
  }
  for (size_t i = 0; i < op.results.size(); ++i) {
    const NdSbp &seen = assignment.tensors[op.results[i]], &made = choice.row.results[i];
    if (seen != (pinnedOf(op, i).empty() ? made : pinnedOf(op, i)))
      return "result " + std::to_string(i) + " is seen otherwise";
    if (!made.empty() && !isLegalBoxing(made, seen))
      return "result " + std::to_string(i) + " cannot be boxed to what is pinned";
  }
  if (choice.isFree)
    return isElementwise(op.spec) && op.results.size() == 1 ? "" : "cannot be free";
  return hasLegalRows(op, choice.row, problem.placement) ? "" : "has no such row";
}

} // namespace

bool slotsFit(const NdSbp &from, const NdSbp &to) {
  for (size_t i = 0; i < from.size(); ++i)
    for (size_t j = 0; j < from.size(); ++j)
      if (i != j && from[i].isFlat() && to[i].isFlat() && from[j] != to[j] &&
          !(j > i && from[j].isPartial() && to[j].isBroadcast()))
        return false;
  return true;
}

bool losesSplit(const Problem &problem, int tensor, const NdSbp &from, const NdSbp &to) {
  bool loses = false;
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (problem.placement.axes[axis].size != 1 && from[axis].kind == Sbp::Kind::Split && !(from[axis] == to[axis]))
      loses = true;
  return loses && problem.tensors[tensor].keepsSplits;
}

std::string findIllegal(const Problem &problem, const Assignment &assignment) {
  if (assignment.ops.size() != problem.ops.size() || assignment.tensors.size() != problem.tensors.size())
    return "something was left out";
  for (size_t op = 0; op < problem.ops.size(); ++op)
    if (std::string found = findIllegalOp(problem, assignment, op); !found.empty())
      return "op " + std::to_string(op) + " " + found + "\n" + describe(problem, assignment);
  for (size_t tensor = 0; tensor < problem.tensors.size(); ++tensor) {
    const TensorInfo &info = problem.tensors[tensor];
    if (!info.given.empty() && assignment.tensors[tensor] != info.given)
      return "tensor " + std::to_string(tensor) + " is not as given";
    if (info.sameAs >= 0 &&
        assignment.tensors[tensor] != (assignment.tensors[info.sameAs].empty() ? NdSbp(problem.placement.axes.size())
                                                                               : assignment.tensors[info.sameAs]))
      return "tensor " + std::to_string(tensor) + " is not the same";
  }
  return "";
}

Score plainScore(const Problem &problem, const Assignment &assignment) {
  Score score;
  auto box = [&](int tensor, const NdSbp &from, const NdSbp &to) {
    ++score.boxings;
    score.undone += losesSplit(problem, tensor, from, to);
    if (isLegalBoxing(from, to) && slotsFit(from, to))
      score.cost += problem.cost(problem.tensors[tensor].shape, problem.tensors[tensor].elementBytes, from, to,
                                 problem.placement);
    else
      ++score.illegal;
  };
  std::set<std::pair<int, std::string>> done;
  auto use = [&](int tensor, const NdSbp &to) {
    const NdSbp &from = assignment.tensors[tensor];
    if (!from.empty() && from != to && done.insert({tensor, toString(to)}).second)
      box(tensor, from, to);
    if (from.empty() && hasPartial(to))
      ++score.illegal;
  };
  for (size_t op = 0; op < problem.ops.size(); ++op) {
    const OpRow &row = assignment.ops[op].row;
    for (size_t i = 0; i < row.operands.size(); ++i)
      use(problem.ops[op].operands[i], row.operands[i]);
    for (size_t i = 0; i < row.results.size(); ++i) {
      const NdSbp &made = row.results[i], &pinned = pinnedOf(problem.ops[op], i);
      auto isCut = [](const Sbp &entry) { return entry.isSplit() || entry.isFlat(); };
      if (!made.empty())
        score.unsplitResults += std::none_of(made.begin(), made.end(), isCut);
      if (!pinned.empty() && made != pinned)
        box(problem.ops[op].results[i], made, pinned);
    }
  }
  for (const Demand &demand : problem.demands) {
    NdSbp wanted = demand.wanted;
    const NdSbp &seen = assignment.tensors[demand.tensor];
    if (wanted.empty()) {
      wanted = seen;
      for (Sbp &entry : wanted)
        entry = entry.isPartial() ? Sbp::broadcast() : entry;
    } else if (!demand.orAs.empty() && seen == demand.orAs) {
      continue;
    }
    use(demand.tensor, wanted);
  }
  return score;
}

std::string sumsOf(const Problem &problem, const Assignment &assignment) {
  std::string text;
  for (size_t op = 0; op < problem.ops.size(); ++op) {
    std::vector<NdSbp> row = assignment.ops[op].row.operands;
    row.insert(row.end(), assignment.ops[op].row.results.begin(), assignment.ops[op].row.results.end());
    text += std::to_string(op) + ":";
    for (const NdSbp &sbp : row)
      if (!isElementwise(problem.ops[op].spec))
        text += " " + toString(sbp);
      else
        for (const Sbp &entry : sbp)
          text += entry.isPartial() ? "P" : "-";
    text += "\n";
  }
  return text;
}

std::string describe(const Problem &problem, const Assignment &assignment) {
  std::ostringstream text;
  text << "on";
  for (const Axis &axis : problem.placement.axes)
    text << " " << axis.size;
  auto print = [&](int tensor, const NdSbp &sbp) {
    text << " %" << tensor << ":";
    for (int64_t extent : problem.tensors[tensor].shape)
      text << extent << "x";
    text << (sbp.empty() ? "free" : toString(sbp));
    if (sbp != assignment.tensors[tensor])
      text << "(" << toString(assignment.tensors[tensor]) << ")";
  };
  for (size_t op = 0; op < problem.ops.size(); ++op) {
    text << "\n  " << op << ":";
    for (size_t i = 0; i < problem.ops[op].operands.size(); ++i)
      print(problem.ops[op].operands[i], assignment.ops[op].row.operands[i]);
    text << " ->";
    for (size_t i = 0; i < problem.ops[op].results.size(); ++i)
      print(problem.ops[op].results[i], assignment.ops[op].row.results[i]);
  }
  for (const Demand &demand : problem.demands)
    text << "\n  %" << demand.tensor << " as " << (demand.wanted.empty() ? "it is" : toString(demand.wanted))
         << (demand.orAs.empty() ? "" : " or " + toString(demand.orAs));
  return text.str() + "\n";
}

} // namespace splitcast::sbp
