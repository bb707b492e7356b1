"""Which parameters a loss has gradients of, as PyTorch sees it.

Three things differ for an optimizer: a parameter without a gradient (frozen, unused, or behind detach() and no_grad())
stays as it is; one whose gradient is all zeros is decayed, and its momentum goes on; any other is updated.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import splitcast as sc
import torch
from splitcast.torch.ops.table import ATEN, as_type

PREFIX = "module."  # of names in the exported program

# PyTorch gives their results no gradient: they depend on no value of their operands, or stop it.
WITHOUT = {
    ATEN.detach, ATEN.detach_, ATEN.zeros_like, ATEN.ones_like, ATEN.full_like, ATEN.empty_like, ATEN.rand_like,
    ATEN.randn_like, ATEN.randint_like, ATEN.new_zeros, ATEN.new_ones, ATEN.new_full, ATEN.new_empty
}

# PyTorch gives their operands a gradient of zeros, and the graph of Splitcast none.
ZERO = {
    ATEN.round, ATEN.floor, ATEN.ceil, ATEN.trunc, ATEN.fix, ATEN.sign, ATEN.sgn, ATEN.bernoulli, ATEN.floor_divide,
    ATEN.heaviside
}

# Their first operand is overwritten, which has the same effect.
OVERWRITING = {ATEN.fill, ATEN.fill_, ATEN.zero, ATEN.zero_, ATEN.copy, ATEN.copy_}
SCALED = {ATEN.addmm, ATEN.addmv, ATEN.addbmm, ATEN.baddbmm, ATEN.addr}  # their first operand is, by beta


def _with_slope(node: torch.fx.Node) -> list[torch.fx.Node]:
    """The operands on whose values the result depends."""
    packet, inputs = getattr(node.target, "overloadpacket", None), node.all_input_nodes
    if packet is ATEN.pow and len(node.args) > 1 and isinstance(node.args[1], (int, float)) and node.args[1] == 0:
        return []
    if packet in OVERWRITING or (packet in SCALED and node.kwargs.get("beta", 1) == 0):
        return [each for each in inputs if each is not node.args[0] or each in node.args[1:]]
    return inputs


def _loses(node: torch.fx.Node, lost: set[Any]) -> bool:
    value = node.meta.get("val")
    is_whole = isinstance(value, torch.Tensor) and not (value.dtype.is_floating_point or value.dtype.is_complex)
    packet = getattr(node.target, "overloadpacket", None)
    is_rounded = packet is ATEN.div and node.kwargs.get("rounding_mode") is not None and ATEN.floor in lost
    is_without_mode = getattr(node.target, "__name__", "") == "wrap_with_set_grad_enabled" and not node.args[0]
    return is_whole or packet in lost or is_rounded or is_without_mode


def _reached(program: torch.export.ExportedProgram, lost: set[Any]) -> set[torch.fx.Node]:
    """The nodes from which a path leads to the loss, without one of the ops `lost`."""
    losses = {each.arg.name for each in program.graph_signature.output_specs if each.kind.name == "USER_OUTPUT"}
    left = [node for node in program.graph.nodes if node.name in losses]
    found: set[torch.fx.Node] = set()
    while left:
        node = left.pop()
        if node not in found and not _loses(node, lost):
            found.add(node)
            left += _with_slope(node) if lost >= ZERO else node.all_input_nodes
    return found


def _names(program: torch.export.ExportedProgram, nodes: Iterable[torch.fx.Node]) -> set[str]:
    parameters = program.graph_signature.inputs_to_parameters
    return {parameters[node.name][len(PREFIX):] for node in nodes if node.name in parameters}


def with_gradients(program: torch.export.ExportedProgram) -> set[str]:
    """The names of the parameters whose .grad eager PyTorch sets in backward, be it to zeros."""
    return _names(program, _reached(program, WITHOUT))


def require_same(of_example: set[str], of_other: set[str]) -> set[str]:
    """Checks that a batch of other_inputs trains the parameters that example_inputs does, and returns these."""
    if differing := sorted(of_example ^ of_other):
        raise sc.InvalidError(
            f"parameter '{differing[0]}' has a gradient with example_inputs or with one of other_inputs, but not with "
            "both; compile() supports batches of several shapes only where all of them train the same parameters")
    return of_example


def _of_zeros(program: torch.export.ExportedProgram) -> set[str]:
    """Those of with_gradients() that only ops without slope lead to."""
    return with_gradients(program) - _names(program, _reached(program, WITHOUT | ZERO))


def of_all(loss: sc.Tensor, program: torch.export.ExportedProgram, parameters: dict[str, sc.Tensor],
           name_of: Callable[[str], str]) -> sc.Tensor:
    """The loss, with a gradient of all parameters that PyTorch has one of. parameters: these, by the variable's name.
    name_of: the variable's name by the parameter's."""
    for name in sorted({name_of(each) for each in _of_zeros(program)}):
        if name in parameters:
            zero = sc.sum(parameters[name]) * 0.0
            loss = loss + as_type(zero, loss.dtype)
    return loss
