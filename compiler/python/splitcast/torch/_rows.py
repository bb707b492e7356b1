"""Whether the first dimension of an input is that of a batch's rows, asked of the exported graph.

A dimension is followed through the graph: `x[i]` stays apart from `x[j]` in elementwise ops, products with a weight,
and so on, until a sum or a mean over it. What reaches the loss so is a dimension of samples. Each rule says where the
followed dimension of an operand lies in the result; an op without a rule ends the search without a verdict.

    [5, 6, 4] -> gru (batch_first=False) -> linear -> mse_loss       dimension 0 is time, and 1 reaches the loss
"""
from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

ATEN = torch.ops.aten


@dataclasses.dataclass(frozen=True)
class Followed:
    """Where the followed dimension, of extent n, lies: dimension `dim` has the extent before * n * after."""
    dim: int
    before: int = 1
    after: int = 1


class _End:
    """What has become of the followed dimension, where it is no dimension any more."""

    def __init__(self, name: str) -> None:
        self.name = name


REDUCED = _End("summed up")  # and what was computed of the sum is linear
MIXED = _End("mixed")  # its elements were computed with each other
UNKNOWN = _End("unknown")  # an op that has no rule

State = Followed | _End | None  # None: nothing of the followed dimension
Rule = Callable[["_Op", Followed], State]


class _Op:
    """A node whose operands are followed, as rules see it."""

    def __init__(self, node: torch.fx.Node, extent: int) -> None:
        self.node = node
        self.extent = extent
        schema = node.target._schema if isinstance(node.target, torch._ops.OpOverload) else None
        names = [argument.name for argument in schema.arguments] if schema else []
        self.arguments: dict[str, Any] = {**dict(zip(names, node.args)), **node.kwargs}

    def get(self, name: str, default: Any = None) -> Any:
        return self.arguments.get(name, default)

    def shape_of(self, value: Any) -> tuple[int, ...]:
        value = value.meta.get("val") if isinstance(value, torch.fx.Node) else value
        return tuple(value.shape) if isinstance(value, torch.Tensor) else ()

    def operand_shape(self) -> tuple[int, ...]:
        return self.shape_of(self.node.all_input_nodes[0])

    def shape(self) -> tuple[int, ...]:
        value: Any = self.node.meta.get("val")
        return tuple((value[0] if isinstance(value, (list, tuple)) else value).shape)

    def dims(self, name: str = "dim") -> list[int]:
        """Dimensions that an argument names, none of them negative; all if it is left out."""
        rank = len(self.operand_shape())
        said = self.get(name)
        if said is None or said == []:
            return list(range(rank))
        return [each % max(rank, 1) for each in ([said] if isinstance(said, int) else said)]


# ---- Rules ----


def _stays(op: _Op, at: Followed) -> State:
    return at


def _seen_anew(op: _Op, at: Followed) -> State:
    """A view: the same elements in the same order."""
    old, new = op.operand_shape(), op.shape()
    left = math.prod(old[:at.dim]) * at.before
    right = at.after * math.prod(old[at.dim + 1:])
    for dim, extent in enumerate(new):
        outer, inner = math.prod(new[:dim]), math.prod(new[dim + 1:])
        if outer and inner and left % outer == 0 and right % inner == 0 and (left // outer * op.extent *
                                                                             (right // inner) == extent):
            return Followed(dim, left // outer, right // inner)
    return MIXED


def _expanded(op: _Op, at: Followed) -> State:
    old, new = op.operand_shape(), op.shape()
    dim = at.dim + len(new) - len(old)
    return Followed(dim, at.before, at.after) if new[dim] == old[at.dim] else MIXED


def _permuted(order: Callable[[_Op, int], list[int]]) -> Rule:

    def rule(op: _Op, at: Followed) -> State:
        return dataclasses.replace(at, dim=order(op, len(op.operand_shape())).index(at.dim))

    return rule


def _swapped(first: int, second: int, rank: int) -> list[int]:
    order = list(range(rank))
    order[first], order[second] = order[second], order[first]
    return order


def _without(op: _Op, at: Followed, dims: Sequence[int], keep: bool, over: State) -> State:
    """The result of an op that takes dimensions away. over: what becomes of the followed one if it is among them."""
    if at.dim in dims:
        return over if (at.before, at.after) == (1, 1) or len(dims) == len(op.operand_shape()) else MIXED
    return at if keep else dataclasses.replace(at, dim=at.dim - sum(dim < at.dim for dim in dims))


def _summed(op: _Op, at: Followed) -> State:
    return _without(op, at, op.dims(), op.get("keepdim", False), REDUCED)


def _reduced(op: _Op, at: Followed) -> State:
    return _without(op, at, op.dims(), op.get("keepdim", False), MIXED)


def _selected(op: _Op, at: Followed) -> State:
    return _without(op, at, [op.get("dim", 0) % len(op.operand_shape())], False, MIXED)


def _beside(name: str = "dim", default: Any = 0) -> Rule:
    """Ops that compute along one dimension, and leave the others."""

    def rule(op: _Op, at: Followed) -> State:
        said = op.get(name, default)
        dims = [each % len(op.operand_shape()) for each in ([said] if isinstance(said, int) else said)]
        return at if at.dim not in dims else MIXED

    return rule


def _sliced(op: _Op, at: Followed) -> State:
    return at if op.shape()[at.dim] == op.operand_shape()[at.dim] else MIXED


def _stacked(op: _Op, at: Followed) -> State:
    dim = op.get("dim", 0) % (len(op.operand_shape()) + 1)
    return dataclasses.replace(at, dim=at.dim + (dim <= at.dim))


def _before_last(count: Callable[[_Op], int]) -> Rule:
    """Ops that mix the last dimensions, and leave those before."""

    def rule(op: _Op, at: Followed) -> State:
        return at if at.dim < len(op.operand_shape()) - count(op) else MIXED

    return rule


def _of_samples(op: _Op, at: Followed) -> State:
    """Ops of [samples, channels, ...]."""
    return at if at.dim == 0 else MIXED


def _recurrent(op: _Op, at: Followed) -> State:
    """Of [steps, samples, width], or [samples, steps, width] with batch_first."""
    return at if at.dim == (0 if op.get("batch_first") else 1) else MIXED


def _cross_entropy(op: _Op, at: Followed) -> State:
    classes = 1 if len(op.operand_shape()) > 1 else 0
    if at.dim == classes:
        return MIXED
    if op.get("reduction", 1):
        return REDUCED
    return at if at.dim < classes else dataclasses.replace(at, dim=at.dim - 1)


def _elementwise_loss(op: _Op, at: Followed) -> State:
    return REDUCED if op.get("reduction", 1) else at


RULES: dict[Any, Rule] = {}


def _add(rule: Rule, *names: str) -> None:
    RULES.update({getattr(ATEN, name): rule for name in names if hasattr(ATEN, name)})


_add(_stays, "dropout", "clone", "contiguous", "to", "_to_copy", "type_as", "detach", "detach_", "alias", "zeros_like",
     "ones_like", "full_like", "one_hot", "lift_fresh_copy", "masked_fill", "masked_fill_", "embedding", "relu", "gelu",
     "silu", "leaky_relu", "elu", "celu", "selu", "hardtanh", "hardswish", "softplus", "mish", "sigmoid", "tanh",
     "where")
_add(_seen_anew, "view", "reshape", "_unsafe_view", "flatten", "unflatten", "unsqueeze", "squeeze", "view_as",
     "reshape_as")
_add(_expanded, "expand", "expand_as")
_add(_permuted(lambda op, rank: [dim % rank for dim in op.get("dims")]), "permute")
_add(_permuted(lambda op, rank: _swapped(op.get("dim0"), op.get("dim1"), rank)), "transpose")
_add(_permuted(lambda op, rank: list(range(rank))[::-1]), "t", "numpy_T")
_add(_permuted(lambda op, rank: _swapped(rank - 2, rank - 1, rank)), "mT", "adjoint")
_add(_summed, "sum", "mean", "nansum")
_add(_reduced, "amax", "amin", "max", "min", "argmax", "argmin", "var", "std", "var_mean", "logsumexp", "norm", "any",
     "all", "prod", "linalg_vector_norm", "median")
_add(_selected, "select", "unbind")
_add(_beside(), "softmax", "log_softmax", "cumsum", "cumprod", "index_select", "gather", "sort", "argsort", "split",
     "chunk", "split_with_sizes", "cat", "glu", "narrow")
_add(_beside(default=-1), "topk")
_add(_beside("dims", ()), "flip", "roll")
_add(_sliced, "slice", "constant_pad_nd", "pad")
_add(_stacked, "stack")
_add(_before_last(lambda op: 1), "linear", "avg_pool1d", "max_pool1d", "adaptive_avg_pool1d", "adaptive_max_pool1d")
_add(_before_last(lambda op: 2), "avg_pool2d", "max_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d",
     "scaled_dot_product_attention")
_add(_before_last(lambda op: len(op.get("normalized_shape"))), "layer_norm", "rms_norm")
_add(_of_samples, "conv1d", "conv2d", "conv3d", "convolution", "conv_transpose1d", "conv_transpose2d", "group_norm",
     "instance_norm")
_add(_recurrent, "gru", "lstm", "rnn_tanh", "rnn_relu")
_add(_cross_entropy, "cross_entropy_loss", "nll_loss", "nll_loss_nd")
_add(_elementwise_loss, "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
     "binary_cross_entropy_with_logits", "kl_div")

RECURRENT = {ATEN.gru, ATEN.lstm, ATEN.rnn_tanh, ATEN.rnn_relu}
PRODUCTS = {ATEN.matmul, ATEN.mm, ATEN.bmm, ATEN.addmm, ATEN.baddbmm, ATEN.mv}
LINEAR = {
    ATEN.add, ATEN.sub, ATEN.neg, ATEN.sum, ATEN.mean, ATEN.to, ATEN._to_copy, ATEN.clone, ATEN.squeeze, ATEN.view,
    ATEN.reshape, ATEN.alias
}
SCALING = {ATEN.mul, ATEN.div}


def _of_product(op: _Op, states: dict[torch.fx.Node, Followed]) -> State:
    """Of products [..., rows, inner] by [..., inner, columns]: rows stay apart, and so do columns."""
    left, right = (op.get("batch1",
                          op.get("mat1",
                                 op.get("self"))), op.get("batch2", op.get("mat2", op.get("other", op.get("vec")))))
    ranks = [len(op.shape_of(each)) for each in (left, right)]
    found = []
    for operand, rank, contracted in ((left, ranks[0], ranks[0] - 1), (right, ranks[1], max(ranks[1] - 2, 0))):
        at = states.get(operand)
        if at is None:
            continue
        if at.dim == contracted or (min(ranks) == 1 and operand is right and rank > 1):
            return MIXED
        found.append(dataclasses.replace(at, dim=at.dim + max(ranks) - rank) if rank > 1 else at)
    both = left in states and right in states
    if both and (found[0] != found[1] or found[0].dim >= max(ranks) - 2):
        return MIXED
    return found[0] if found else MIXED


def _of_elements(op: _Op, states: dict[torch.fx.Node, Followed], rule: Rule) -> State:
    """Of ops whose operands are broadcast to each other. Constants that differ along the dimension tell its elements
    apart, as weights of positions do."""
    rank = max(len(op.shape_of(each)) for each in op.node.all_input_nodes)
    found = set()
    for operand in op.node.all_input_nodes:
        shape = op.shape_of(operand)
        if operand in states:
            at = states[operand]
            found.add(dataclasses.replace(at, dim=at.dim + rank - len(shape)))
    at = next(iter(found))
    for operand in op.node.all_input_nodes:
        shape = op.shape_of(operand)
        dim = at.dim - rank + len(shape)
        if operand not in states and dim >= 0 and shape[dim] != 1:
            return MIXED
    return rule(op, at) if len(found) == 1 else MIXED


BROADCAST = {_stays, _elementwise_loss}


def _after(node: torch.fx.Node, states: dict[torch.fx.Node, State], extent: int) -> State:
    """What becomes of the followed dimension in this node."""
    given = {each: states.get(each) for each in node.all_input_nodes if states.get(each) is not None}
    if not given:
        return None
    packet = getattr(node.target, "overloadpacket", None)
    if UNKNOWN in given.values() or MIXED in given.values():
        return UNKNOWN if UNKNOWN in given.values() else MIXED
    if node.target is operator.getitem:
        return _of_item(node, states)
    if REDUCED in given.values():
        is_linear = packet in LINEAR or (packet in SCALING and len(given) == 1)
        return REDUCED if is_linear and all(each is REDUCED for each in given.values()) else MIXED
    at = {each: state for each, state in given.items() if isinstance(state, Followed)}
    op = _Op(node, extent)
    if packet in PRODUCTS:
        return _of_product(op, at)
    rule = RULES.get(packet)
    if rule is None and torch.Tag.pointwise in getattr(node.target, "tags", []):
        rule = _stays
    if rule is None:
        return UNKNOWN
    if rule in BROADCAST and packet is not ATEN.embedding:
        return _of_elements(op, at, rule)
    first = node.all_input_nodes[0]
    if packet is ATEN.embedding:
        return at.get(op.get("indices"), MIXED)
    if packet in RECURRENT and first in at and isinstance(_recurrent(op, at[first]), Followed):
        return at[first]
    if (packet in (ATEN.cat, ATEN.stack, ATEN.scaled_dot_product_attention) and len(set(
            at.values())) > 1) or first not in at:
        return MIXED
    return rule(op, at[first])


def _of_item(node: torch.fx.Node, states: dict[torch.fx.Node, State]) -> State:
    """One of several results. The last states of a recurrent layer are [layers, samples, width]."""
    source, number = node.args
    assert isinstance(source, torch.fx.Node)
    state = states[source]
    is_state = getattr(source.target, "overloadpacket", None) in RECURRENT and number != 0
    return Followed(1) if is_state and isinstance(state, Followed) else state


# ---- Verdicts ----


def _has_elements(node: torch.fx.Node, extent: int) -> bool:
    """Whether a result may still have one for each row, as of pairs of labels."""
    value = node.meta.get("val")
    return not isinstance(value, torch.Tensor) or value.numel() >= extent


def _walk(graph: torch.fx.Graph, starts: dict[torch.fx.Node, int], extent: int) -> dict[torch.fx.Node, State]:
    states: dict[torch.fx.Node, State] = {node: Followed(dim) for node, dim in starts.items()}
    for node in graph.nodes:
        if node.op == "call_function" and node not in states:
            try:
                states[node] = _after(node, states, extent)
            except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # arguments of a form without a rule
                states[node] = UNKNOWN
    return states


def reaches_loss(graph: torch.fx.Graph, loss: torch.fx.Node, starts: dict[torch.fx.Node, int], extent: int) -> bool:
    """Whether these dimensions of inputs, all of one extent, stay apart until the loss sums them up."""
    return _walk(graph, starts, extent).get(loss) is REDUCED


def mixing_node(graph: torch.fx.Graph, starts: dict[torch.fx.Node, int], extent: int) -> torch.fx.Node | None:
    """The first op that computes the elements of these dimensions with each other."""
    states = _walk(graph, starts, extent)
    return next((node for node in graph.nodes if states.get(node) is MIXED), None)


def is_alone(graph: torch.fx.Graph, start: torch.fx.Node, dim: int, extent: int, others: set[torch.fx.Node]) -> bool:
    """Whether the rows of an input never meet rows of others or parameters, whose nodes are `others`, but are summed or
    chosen before: what is left tells nothing of the batch's rows, as of a weight of one element."""
    states = _walk(graph, {start: dim}, extent)
    depends = set(others)
    for node in graph.nodes:
        meets = any(isinstance(states.get(each), Followed) for each in node.all_input_nodes)
        if any(each in depends for each in node.all_input_nodes):
            if meets:
                return False
            depends.add(node)
        if meets and (states.get(node) is UNKNOWN or (states.get(node) is MIXED and _has_elements(node, extent))):
            return False
    return bool(start.users)
