"""The random numbers of steps and evaluations: what decides them, and what does not.

Each number depends on the seed, the number of the step, the op, and the place in the global tensor, and so on neither
ranks nor stages. A session has the seed and the number of steps as variables, which its files keep.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import splitcast as sc
import torch
from splitcast.torch._export import is_random

SEEDS = 2**63
STEP = "random.step"  # the variable that each run of a function that draws adds 1 to


def seed_of(seed: int | None) -> int:
    """The seed of a model: what is given, or a number that PyTorch's generator of the CPU draws on rank 0.

    So models that are compiled one after the other draw unlike, and after torch.manual_seed() with the same number
    alike. All ranks call it.
    """
    if seed is None:
        drawn = int(torch.randint(SEEDS - 1, (), dtype=torch.int64))
        return int(sc.exchange(str(drawn), "the seed")[0])
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < SEEDS:
        raise sc.InvalidError(f"seed is {seed!r}; it must be a whole number from 0 to 2^63 - 1")
    sc.agree_alike(str(seed), "the seed")
    return seed


class Evaluations:
    """Lets evaluations draw numbers of their own, each other ones, which change nothing of what steps draw."""

    def __init__(self, session: sc.Session, draws: bool) -> None:
        self._session = session
        self._draws = draws and STEP in session.variables  # dropout of 0 or 1 draws nothing
        self._count = 0

    @contextlib.contextmanager
    def apart(self) -> Iterator[None]:
        """While an evaluation runs, the number of the step is that of the evaluation. (Its ops are others than those of
        steps, so that equal numbers draw unlike.)"""
        if not self._draws:
            yield
            return
        before = self._session.read(STEP)
        self._session.write(STEP, np.int64(self._count))
        try:
            yield
        finally:
            self._session.write(STEP, before)
            self._count += 1


def draws(program: torch.export.ExportedProgram) -> bool:
    """Whether an exported function draws random numbers."""
    graphs = [part.graph for part in program.graph_module.modules() if isinstance(part, torch.fx.GraphModule)]
    return any(_draws(node) for graph in graphs for node in graph.nodes)


def _draws(node: torch.fx.Node) -> bool:
    if not is_random(node):
        return False
    assert isinstance(node.target, torch._ops.OpOverload)
    names = [argument.name for argument in node.target._schema.arguments]
    given = {**dict(zip(names, node.args)), **node.kwargs}
    is_dropout_left_out = given.get("train") is False or given.get("dropout_p",
                                                                   0.0 if "dropout_p" in names else 1.0) == 0
    return not is_dropout_left_out
