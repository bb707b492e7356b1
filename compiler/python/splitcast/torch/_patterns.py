"""Formulas that models write out and that are a single op here: they are recognized at their last node.

The nodes before it are mapped as well. If nothing else uses them, their results are simply unused.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeGuard

import splitcast as sc
import torch
from splitcast.torch.ops.table import ATEN, Function, Unary


def _is(node: object, op: Function, count: int) -> TypeGuard[torch.fx.Node]:
    """Whether this is a call of the op, with so many arguments or more, all of them by position."""
    return (isinstance(node, torch.fx.Node) and node.op == "call_function" and node.target is op and
            not node.kwargs and len(node.args) >= count)


def _operands(node: object, op: Function, number: float) -> torch.fx.Node | None:
    """The operand of a two-operand op whose other operand is `number`; None for any other node."""
    if not _is(node, op, 2):
        return None
    for one, other in (node.args[:2], node.args[1::-1]):
        if isinstance(other, (int, float)) and math.isclose(other, number, rel_tol=1e-6):
            return one if isinstance(one, torch.fx.Node) else None
    return None


def gelu_by_tanh(node: torch.fx.Node) -> torch.fx.Node | None:
    """Returns x if the node is 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), else None.

    The formula is from Hendrycks and Gimpel 2016, arXiv:1606.08415.
    """
    if not _is(node, ATEN.mul.Tensor, 2):
        return None
    for half, rest in (node.args[:2], node.args[1::-1]):
        x = _operands(half, ATEN.mul.Tensor, 0.5)
        tanh = _operands(rest, ATEN.add.Tensor, 1.0)
        if x is None or not _is(tanh, ATEN.tanh.default, 1):
            continue
        inner = _operands(tanh.args[0], ATEN.mul.Tensor, math.sqrt(2 / math.pi))
        if not _is(inner, ATEN.add.Tensor, 2):
            continue
        for first, last in (inner.args[:2], inner.args[1::-1]):
            cube = _operands(last, ATEN.mul.Tensor, 0.044715)
            if first is x and _operands(cube, ATEN.pow.Tensor_Scalar, 3) is x:
                return x
    return None


# Pairs (find, apply): find(node) gives the node of the operand or None; apply(operand) is the op for the formula.
PATTERNS: list[tuple[Callable[[torch.fx.Node], torch.fx.Node | None], Unary]] = [
    (gelu_by_tanh, lambda x: sc.gelu(x, approximate=True)),
]
