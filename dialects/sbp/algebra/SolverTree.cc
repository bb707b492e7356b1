#include "dialects/sbp/algebra/SolverTree.h"

#include <algorithm>
#include <numeric>

namespace splitcast::sbp::solver {

ForestSolver::ForestSolver(Tables &tables, const Candidates &candidates, SolverStatistics &statistics)
    : tables(tables), candidates(candidates), statistics(statistics), boxings(tables, statistics),
      users(tables.source.size()), makers(tables.source.size(), {-1, -1}), alwaysWanted(tables.source.size()),
      openDemands(tables.source.size()), seen(tables.source.size(), kFree), parentPort(tables.problem.ops.size(), -1),
      parentOfTensor(tables.source.size(), {-1, -1}), opScores(tables.problem.ops.size()),
      tensorScores(tables.source.size()), opRows(tables.problem.ops.size()), askedOfOp(tables.problem.ops.size(), -1),
      askedOfTensor(tables.source.size(), -1) {
  listNeighbours();
}

void ForestSolver::listNeighbours() {
  std::vector<RowIds> firstRows;
  for (size_t op = 0; op < tables.problem.ops.size(); ++op) {
    const OpKind &kind = candidates.kindOf(op);
    firstRows.push_back(kind.rows.front());
    for (size_t port = 0; port < kind.ports.size(); ++port) {
      const int tensor = candidates.tensorsOf(op)[port];
      const PortOfOp at{static_cast<int>(op), static_cast<int>(port)};
      const std::vector<int> &first = kind.ports[port].options.front();
      if (kind.ports[port].isConstant() && !kind.ports[port].isMaker)
        alwaysWanted[tensor].insert(alwaysWanted[tensor].end(), first.begin(), first.end());
      else if (!kind.ports[port].isConstant() && kind.ports[port].isMaker)
        makers[tensor] = at;
      else if (!kind.ports[port].isConstant())
        users[tensor].push_back(at);
    }
  }
  seen = tables.seen(firstRows);
  for (size_t tensor = 0; tensor < seen.size(); ++tensor) {
    std::vector<int> &always = alwaysWanted[tensor];
    for (int demand : tables.demands[tensor]) {
      const Demand &each = tables.problem.demands[demand];
      if (each.wanted.empty() || !each.orAs.empty())
        openDemands[tensor].push_back(demand);
      else
        always.push_back(tables.signatures.idOf(each.wanted));
    }
    std::sort(always.begin(), always.end());
    always.erase(std::unique(always.begin(), always.end()), always.end());
  }
}

std::vector<bool> ForestSolver::forestOf(const std::vector<int> &order) {
  // The trees so far, as disjoint sets of tensors (union-find).
  std::vector<int> above(tables.source.size());
  std::iota(above.begin(), above.end(), 0);
  auto rootOf = [&](int tensor) {
    while (above[tensor] != tensor)
      tensor = above[tensor] = above[above[tensor]];
    return tensor;
  };
  std::vector<bool> forest(tables.problem.ops.size());
  std::vector<int> roots;
  for (int op : order) {
    const OpKind &kind = candidates.kindOf(op);
    roots.clear();
    bool isTree = kind.rows.size() > 1;
    for (size_t port = 0; port < kind.ports.size() && isTree; ++port)
      if (!kind.ports[port].isConstant()) {
        const int root = rootOf(candidates.tensorsOf(op)[port]);
        isTree = std::find(roots.begin(), roots.end(), root) == roots.end();
        roots.push_back(root);
      }
    forest[op] = isTree;
    for (size_t i = 1; i < roots.size() && isTree; ++i)
      above[roots[i]] = roots[0];
  }
  return forest;
}

void ForestSolver::solve(const std::vector<bool> &chosenForest, std::vector<int> &chosenRows) {
  forest = &chosenForest;
  rows = &chosenRows;
  std::vector<int> newRows = chosenRows;
  std::vector<bool> isDone(forest->size());
  std::vector<Node> order;
  for (size_t root = 0; root < forest->size(); ++root) {
    if (!(*forest)[root] || isDone[root])
      continue;
    order.clear();
    visitTree(root, order);
    for (auto node = order.rbegin(); node != order.rend(); ++node)
      node->isTensor ? fillTensor(node->number) : fillOp(node->number);
    for (const Node &node : order) {
      if (node.isTensor) {
        assignTensor(node.number);
        continue;
      }
      isDone[node.number] = true;
      newRows[node.number] = assignOp(node.number);
    }
  }
  chosenRows = std::move(newRows);
}

/// Lists the nodes of a tree, each behind its parent, and notes their parents.
void ForestSolver::visitTree(int root, std::vector<Node> &order) {
  parentPort[root] = -1;
  order.push_back({root, false});
  for (size_t at = 0; at < order.size(); ++at) {
    const Node node = order[at];
    if (node.isTensor) {
      const int tensor = node.number;
      std::vector<PortOfOp> neighbours = users[tensor];
      neighbours.push_back(makers[tensor]);
      for (const PortOfOp &next : neighbours)
        if (next.op >= 0 && isChild(next, tensor)) {
          parentPort[next.op] = next.port;
          order.push_back({next.op, false});
        }
      continue;
    }
    const std::vector<Port> &ports = candidates.kindOf(node.number).ports;
    for (size_t port = 0; port < ports.size(); ++port)
      if (!ports[port].isConstant() && static_cast<int>(port) != parentPort[node.number]) {
        const int tensor = candidates.tensorsOf(node.number)[port];
        parentOfTensor[tensor] = {node.number, static_cast<int>(port)};
        order.push_back({tensor, true});
      }
  }
}

//===----------------------------------------------------------------------===//
// From the leaves to the root
//===----------------------------------------------------------------------===//

/// Returns the score of the row together with everything that lies behind the
/// tensors of the op, except its parent.
Score ForestSolver::scoreOfRow(int op, size_t row) const {
  const OpKind &kind = candidates.kindOf(op);
  Score score = kind.own[row];
  ++statistics.steps;
  for (size_t port = 0; port < kind.ports.size(); ++port)
    if (!kind.ports[port].isConstant() && static_cast<int>(port) != parentPort[op])
      score = score + tensorScores[candidates.tensorsOf(op)[port]][kind.ports[port].ofRow[row]];
  return score;
}

void ForestSolver::fillOp(int op) {
  const OpKind &kind = candidates.kindOf(op);
  const bool isRoot = parentPort[op] < 0;
  const size_t options = isRoot ? 1 : kind.ports[parentPort[op]].options.size();
  opScores[op].assign(options, {});
  opRows[op].assign(options, -1);
  for (size_t row = 0; row < kind.rows.size(); ++row) {
    const Score score = scoreOfRow(op, row);
    const int option = isRoot ? 0 : kind.ports[parentPort[op]].ofRow[row];
    if (opRows[op][option] < 0 || score < opScores[op][option]) {
      opScores[op][option] = score;
      opRows[op][option] = row;
    }
  }
}

/// Fills `choosers` with the users of the tensor below it in the tree, and
/// `wantedByFixed` with the signatures that all other users want, except its
/// parent.
void ForestSolver::prepareTensor(int tensor) {
  childUsers.clear();
  choosers.clear();
  wantedByFixed = alwaysWanted[tensor];
  for (const PortOfOp &user : users[tensor]) {
    const std::vector<std::vector<int>> &options = portOf(user).options;
    if (isChild(user, tensor)) {
      childUsers.push_back(user);
      choosers.push_back({&options, &opScores[user.op], optionOf(user)});
      continue;
    }
    if ((*forest)[user.op])
      continue; // the parent
    for (int target : options[optionOf(user)])
      if (std::find(wantedByFixed.begin(), wantedByFixed.end(), target) == wantedByFixed.end())
        wantedByFixed.push_back(target);
  }
}

/// Returns the score of the tensor's boxings and of the users below it, if uses
/// see it in `signature` and the parent wants it in `asked`.
Score ForestSolver::madeAs(int tensor, int signature, const std::vector<int> &asked, std::vector<int> &chosen) {
  std::vector<int> wanted = wantedByFixed;
  wanted.insert(wanted.end(), asked.begin(), asked.end());
  for (int demand : openDemands[tensor])
    wanted.push_back(tables.wantedBy(demand, signature));
  ++statistics.steps;
  return boxings.choose(tensor, signature, wanted, choosers, chosen);
}

/// Returns the least score behind the tensor if its parent takes `option`. Sets
/// the option of the maker's port that has this score, and the options of the
/// users below.
Score ForestSolver::withOption(int tensor, int option, int &madeOption, std::vector<int> &chosen) {
  const PortOfOp &parent = parentOfTensor[tensor], &maker = makers[tensor];
  const std::vector<int> &asked = portOf(parent).options[option];
  madeOption = -1;
  if (portOf(parent).isMaker)
    return madeAs(tensor, asked.front(), {}, chosen);
  if (maker.op < 0 || !(*forest)[maker.op])
    return madeAs(tensor, maker.op < 0 ? seen[tensor] : portOf(maker).options[optionOf(maker)].front(), asked, chosen);
  Score best;
  std::vector<int> each;
  for (size_t made = 0; made < portOf(maker).options.size(); ++made) {
    const Score score = opScores[maker.op][made] + madeAs(tensor, portOf(maker).options[made].front(), asked, each);
    if (madeOption < 0 || score < best) {
      best = score;
      madeOption = made;
      chosen = each;
    }
  }
  return best;
}

void ForestSolver::fillTensor(int tensor) {
  prepareTensor(tensor);
  tensorScores[tensor].clear();
  int madeOption;
  std::vector<int> chosen;
  for (size_t option = 0; option < portOf(parentOfTensor[tensor]).options.size(); ++option)
    tensorScores[tensor].push_back(withOption(tensor, option, madeOption, chosen));
}

//===----------------------------------------------------------------------===//
// From the root to the leaves
//===----------------------------------------------------------------------===//

/// Returns the row of an op whose parent has been assigned, and notes which
/// options this row takes of its tensors.
int ForestSolver::assignOp(int op) {
  const OpKind &kind = candidates.kindOf(op);
  const int row = opRows[op][parentPort[op] < 0 ? 0 : askedOfOp[op]];
  for (size_t port = 0; port < kind.ports.size(); ++port)
    if (!kind.ports[port].isConstant() && static_cast<int>(port) != parentPort[op])
      askedOfTensor[candidates.tensorsOf(op)[port]] = kind.ports[port].ofRow[row];
  return row;
}

void ForestSolver::assignTensor(int tensor) {
  prepareTensor(tensor);
  int madeOption;
  std::vector<int> chosen;
  withOption(tensor, askedOfTensor[tensor], madeOption, chosen);
  for (size_t i = 0; i < childUsers.size(); ++i)
    askedOfOp[childUsers[i].op] = chosen[i];
  if (madeOption >= 0)
    askedOfOp[makers[tensor].op] = madeOption;
}

} // namespace splitcast::sbp::solver
