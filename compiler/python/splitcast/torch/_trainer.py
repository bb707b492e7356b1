"""The Trainer that splitcast.torch.compile returns."""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, overload

import splitcast as sc
import torch
from numpy.typing import NDArray
from splitcast.torch import (
    _batches,
    _constants,
    _excerpts,
    _facts,
    _files,
    _following,
    _optimizers,
    _randomness,
    _surroundings,
)
from splitcast.torch._state import Watched
from splitcast.torch._watches import bytes_of


class Trainer:
    """A model that is trained, on this rank. All ranks must call the same methods in the same order."""

    def __init__(self, graph: sc.Graph, session: sc.Session, module: torch.nn.Module, layout: _batches.Layout,
                 evaluations: _randomness.Evaluations, outputs: dict[str, torch.dtype], watched: Watched,
                 constants: _constants.Constants, changing: Iterable[str], surroundings: _surroundings.Surroundings,
                 facts: dict[str, _facts.Facts], setting: str,
                 counts_of: Callable[[_optimizers.Variables, Collection[str]], dict[str, list[str]]]) -> None:
        """compile() calls it. outputs: the types of what evaluate() gives beside the loss, by name. changing: the names
        of parameters and buffers that steps change. facts: what tracing has read, by the function. setting: the stage
        and the mesh, for repr(). counts_of: see _optimizers.counts_of()."""
        trained = {id(value): value.numel() for value in module.parameters() if value.requires_grad}
        total = sum(value.numel() for value in module.parameters())
        self._what = f"{type(module).__name__}, {total:,} parameters"
        self._what += f" ({sum(trained.values()):,} trained), " if sum(trained.values()) != total else ", "
        self._what += setting
        self._graph = graph
        self._watched = watched
        self._layout = layout
        self._evaluations = evaluations
        self._outputs = outputs
        self._surroundings = surroundings
        self._facts = facts
        self._types = {function: {name: of["dtype"] for name, of in session.outputs(function).items()}
                       for function in session.functions}
        variables = _optimizers.variables_of(module, session.variables)
        self._following = _following.Following(module, session, variables.tensors, variables.names,
                                               {variables.names[name] for name in changing if name in variables.names},
                                               constants, _as_held)
        self._compiled = session  # what the trainer itself writes is no change by the user
        self.session = _files.TrainedSession(session, self._carry, self._carry_all, self._loaded,
                                             "saved" if watched.follows_rates else "",
                                             counts_of(variables, session.variables))

    def __repr__(self) -> str:
        steps = self._following.steps
        return (f"<splitcast.torch.Trainer of {self._what}, rank {sc.rank()} of {sc.size()}, {steps:,} "
                f"step{'s' if steps != 1 else ''} since compile()>")

    def step(self, batch: _batches.Batch) -> float:
        """Takes one step on a batch; returns the mean loss of the global batch.

        batch: a dict like example_inputs: this rank's rows, of the shapes of example_inputs or of one of other_inputs.
          It may have arrays and numbers, too, whose values the type of the example has.

        What the user has changed in the model's tensors since compile() or write_back() counts; numbers, modes and
        hooks must be those of compile(), or this raises InvalidError, which says what to do. The learning rates of an
        optimizer of PyTorch are those that it has now, on all ranks; session.load() sets them to the file's.
        Raises InvalidError, too, if the batch has other names, types or shapes.
        """
        function, arrays = self._layout.arrays("train", batch)
        self._compare(function)
        rates = self._watched.changed_rates()
        if rates:
            sc.agree_alike(repr(sorted(rates.items())), "the learning rates of the optimizer")
        for variable, rate in rates.items():
            self._compiled.write(variable, float(rate))
        self._watched.note_rates()
        loss = float(self._run(function, arrays, ["loss"])[0])
        self._following.stepped()
        return loss

    @overload
    def evaluate(self, batch: _batches.Batch, outputs: Literal[False] = False) -> float:
        ...

    @overload
    def evaluate(self, batch: _batches.Batch, outputs: Literal[True]) -> tuple[float, dict[str, torch.Tensor]]:
        ...

    @overload
    def evaluate(self, batch: _batches.Batch, outputs: bool) -> float | tuple[float, dict[str, torch.Tensor]]:
        ...

    def evaluate(self, batch: _batches.Batch, outputs: bool = False) -> float | tuple[float, dict[str, torch.Tensor]]:
        """Returns the loss of a batch in evaluation mode, without changing anything. If it draws random numbers, each
        evaluation draws others, and steps draw what they would without it.

        It is not computed in micro-batches: ranks share all of its rows evenly, in the order of ranks. With
        outputs=True it returns (the loss, the other tensors of the dict that the loss function returns, by name): of a
        tensor whose first dimension is that of the batch, this rank's rows; one that ranks do not share is whole.
        Raises InvalidError if the model was compiled with evaluate=False, and where step() does because of a batch or
        of the model.
        """
        if "evaluate" not in self.session.functions:
            raise sc.InvalidError("the model was compiled with evaluate=False; leave it out of compile() to evaluate")
        function, arrays = self._layout.arrays("evaluate", batch)
        self._follow(function, trains=False)
        self._watched.require_same_hooks()
        with self._evaluations.apart():
            loss, *others = self._run(function, arrays, ["loss", *self._outputs])
        if not outputs:
            return float(loss)
        return float(loss), {name: value.to(dtype) for value, (name, dtype) in zip(others, self._outputs.items())}

    def _run(self, function: str, arrays: dict[str, Any], results: Sequence[str]) -> list[torch.Tensor]:
        """The results of these names, as tensors. Those of the session are valid until its next run."""
        found = self._compiled.run(function, whole=self._layout.whole, **arrays)
        return [_from_array(found[name].copy(), self._types[function][name]) for name in results]

    def state_dict(self) -> dict[str, Any]:
        """The state dict of the module, of whole tensors. All ranks must call it.

        Entries that steps cannot change have the values that were given. Tied entries are one tensor.
        """
        self._carry_all()
        return self._following.state_dict()

    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> _following.IncompatibleKeys:
        """Sets the entries, of parameters and persistent buffers. All ranks must call it with the same state.

        Returns (missing_keys, unexpected_keys), as torch.nn.Module.load_state_dict does. Raises InvalidError, with
        nothing changed, if there are such keys and strict is True, or if an entry has another shape or type.
        """
        self._following.take_assigned()
        return self._following.load_state_dict(state, strict)

    def save(self, path: str) -> None:
        """Writes all of training to one safetensors file: parameters, buffers of the graph, the optimizer's state, the
        step and the learning rates, but no constants. All ranks must call it with the same path.

        A scheduler of PyTorch has a state of its own: keep its state_dict() beside the file.
        """
        self.session.save(path)

    def load(self, path: str, strict: bool = True) -> _following.IncompatibleKeys:
        """Loads a file of save(), whatever the ranks, the stage, the batch and the constants were. All ranks must call
        it. The groups of an optimizer of PyTorch get the learning rates of the file, unless there is a schedule=.

        Returns (missing_keys, unexpected_keys): variables that stay as they are, and tensors of the file that are not
        used. With strict=False, the number of the step and the rates are loaded only where some state of the optimizer
        is. Raises InvalidError, with nothing changed, if there are any such keys and strict is True, or if a tensor has
        another shape or type; NotFoundError if there is no such file.
        """
        if strict:
            self.session.load(path)
            return _following.IncompatibleKeys([], [])
        return _following.IncompatibleKeys(*self.session.load_known(path))

    def write_back(self, discard: bool = False) -> None:
        """Gives the model the values that training has reached, in place. All ranks must call it.

        From then on, until the next step, what is changed in the model is what training goes on from.
        discard: whether to give up what was changed in the model although steps had reached other values; without it,
        such a change is an error of every call until load_state_dict() of whole values.
        """
        if discard:
            self._following.take_assigned()
            self._following.discard()
        else:
            self._carry()
        self._following.write_back()

    def _compare(self, function: str) -> None:
        """What precedes each step."""
        self._follow(function, trains=True)
        self._watched.require_unchanged(self._following.watches)

    def _follow(self, function: str, trains: bool) -> None:
        """Compares what the program is now with what was compiled, and takes over what may change."""
        self._surroundings.require(trains)

        def replace(name: str, before: torch.Tensor, now: torch.Tensor) -> None:
            self._following.replace(name, before, now)
            for other in self._facts.values():
                if other is not self._facts[function]:
                    other.replace(before, now)

        self._facts[function].check(replace)
        self._following.require_given()
        self._following.carry()

    def _carry(self) -> None:
        self._following.take_assigned()
        self._following.carry()

    def _carry_all(self) -> None:
        """Before all values are kept, for which those of other trainers must be there."""
        self._following.require_given()
        self._carry()

    def _loaded(self, names: Iterable[str] | None, are_rates: bool) -> None:
        self._following.loaded(names)
        if names is None:
            self._watched.note_sums()
        if are_rates:
            self._watched.take_rates(self._compiled.read)

    def report(self, function: str = "train") -> dict[str, Any]:
        """The bytes of memory and of each collective, known before the first step: see Session.report."""
        report: dict[str, Any] = self.session.report(function)
        return report

    def ir(self, level: str = "global", around: str | None = None) -> str:
        """The MLIR at the end of a level: "source", as it was exported; "zero", with backward, updates and the storage
        that ZeRO gives to variables; "global", with all signatures and explicit boxing, the same on all ranks; "local",
        this rank's program; "plan", the plan of this rank.

        around: the name of a parameter, such as "fc1.weight": only the lines that declare, read, move, use and update
          it and compute its gradient are returned.
        Raises InvalidError if there is no such level, or if nothing at it has the name.
        """
        text = self._compiled.ir(level)
        return text if around is None else _excerpts.around(text, around)

    def begin(self, module: torch.nn.Module, constants: Mapping[str, torch.Tensor]) -> None:
        """Writes the variables. compile() calls it, on all ranks, which must have the same values; else this raises
        InvalidError on all of them."""
        digests = sc.exchange(_digest_of(module, constants)[:16], "digests of the model's parameters")
        if len(set(digests)) > 1:
            firsts = {digest: digests.index(digest) for digest in dict.fromkeys(digests)}
            lines = "".join(f"  rank {rank}: SHA-256 {digest}\n" for digest, rank in firsts.items())
            raise sc.InvalidError(
                f"ranks were started with different parameters of the model:\n{lines}"
                "Call torch.manual_seed with the same number on all ranks before the model is made, or load the same "
                "state dict into it.")
        self._following.begin({name: value for facts in self._facts.values() for name, value in facts.tensors.items()
                               if facts.uses(value)})


def _as_held(tensor: torch.Tensor) -> NDArray[Any]:
    """The array of a variable, which holds booleans as f32."""
    return _batches.to_array(tensor.to(torch.float32) if tensor.dtype == torch.bool else tensor)


def _from_array(array: NDArray[Any], dtype: sc.ElementType) -> torch.Tensor:
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if dtype == sc.bf16 else tensor


def _digest_of(module: torch.nn.Module, constants: Mapping[str, torch.Tensor]) -> str:
    """A digest of all values that a model holds. (Nothing refers to these tensors afterwards: see Watch.)"""
    digest = hashlib.sha256()
    for name, value in [*module.state_dict().items(), *constants.items()]:
        if not isinstance(value, torch.Tensor):  # what get_extra_state() of a part gives
            continue
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(bytes_of(value).numpy().data)
    return digest.hexdigest()
