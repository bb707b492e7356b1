"""What step() and evaluate() take: the types of a batch, the dimension of its rows, and how ranks' rows make it up."""
from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import splitcast as sc
import torch
from splitcast.torch import _rows
from splitcast.torch._places import place_in

TYPES = (torch.bool, torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.int64)
KEYWORDS = ("function", "whole")  # of Session.run
Dims = dict[str, int | None]  # the dimension of each input's rows; None: all ranks give the same whole tensor
Batch = Mapping[str, Any]  # tensors, arrays or numbers, by the names of the loss function's arguments
Shape = tuple[int, ...]

# ---- Types ----


def holds(wanted: torch.dtype, given: torch.dtype) -> bool:
    """Whether each value of type `given` has an equal one of type `wanted`: of bf16 in f32, but not of i64 in f64."""
    if given == wanted or (given == torch.bool and not wanted.is_complex):
        return True
    if wanted == torch.bool or given.is_complex or wanted.is_complex:
        return False
    if given.is_floating_point:
        if not wanted.is_floating_point:
            return False
        ours, theirs = torch.finfo(wanted), torch.finfo(given)
        return bool(ours.eps <= theirs.eps and ours.max >= theirs.max and ours.tiny <= theirs.tiny)
    integers = torch.iinfo(given)
    if wanted.is_floating_point:
        return bool(integers.max <= 2 / torch.finfo(wanted).eps)
    return bool(torch.iinfo(wanted).min <= integers.min and integers.max <= torch.iinfo(wanted).max)


def _number(name: str, value: bool | float, wanted: torch.dtype) -> torch.Tensor:
    """A number of Python. Floats are rounded to the type, as torch.tensor(value, dtype) does; no other may change."""
    try:
        made = torch.tensor(value, dtype=wanted)
        number = made.item()
        is_rounded = isinstance(value, float) and wanted.is_floating_point and math.isinf(number) == math.isinf(value)
        if number == value or is_rounded:
            return made
    except (OverflowError, RuntimeError, ValueError):
        pass
    raise sc.InvalidError(
        f"the batch's '{name}' is {value!r}, of which {wanted}, the type that compile() was given, has "
        "no equal; compile with an example of the type that it needs, such as torch.tensor(1.0)")


def _of_numpy(name: str, value: Any, wanted: torch.dtype) -> torch.Tensor:
    array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
    if array.dtype == np.uint16:  # see Session.run
        if wanted == torch.bfloat16:
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        raise sc.InvalidError(
            f"the batch's '{name}' is an array of uint16, which holds the bits of bf16; compile() was "
            f"given {wanted}. Convert integers by .astype(numpy.int32)")
    try:
        return torch.from_numpy(array.astype(array.dtype.newbyteorder("="), copy=False))
    except TypeError as error:
        raise sc.InvalidError(f"the batch's '{name}' has elements of {array.dtype}, and compile() was given {wanted}; "
                              "convert it") from error


def array_of(name: str, value: Any, wanted: torch.dtype) -> Any:
    """The array of an input whose example had the type `wanted`.

    value: a tensor, an array of NumPy, a number, or anything else that Session.run takes, which then judges it.
    Raises InvalidError, with both types, if a value could change.
    """
    if isinstance(value, (bool, int, float)):
        value = _number(name, value, wanted)
    elif isinstance(value, (np.ndarray, np.generic)):
        value = _of_numpy(name, value, wanted)
    if not isinstance(value, torch.Tensor):
        return value
    if value.layout != torch.strided:
        raise sc.InvalidError(f"the batch's '{name}' has the layout {value.layout}; give it by .to_dense()")
    if not holds(wanted, value.dtype):
        raise sc.InvalidError(
            f"the batch's '{name}' has elements of {value.dtype}, and compile() was given {wanted}, which "
            f"does not hold all of them without loss; convert it by .to({wanted}), or compile with an "
            "example of its type")
    return to_array(value.detach().to(wanted))


def to_array(tensor: torch.Tensor) -> np.ndarray:
    """A NumPy array, without a copy if the tensor is on the CPU. NumPy has no bf16: its bits are given as uint16."""
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bool:
        tensor = tensor.to(torch.int32)
    array: np.ndarray = (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()
    return array


# ---- Rows ----


def require_names(batch: Any, what: str) -> None:
    if not hasattr(batch, "items"):
        raise sc.InvalidError(
            f"{what} is a {type(batch).__name__}; it must be a dict of tensors by the names of the loss's "
            "parameters, such as {\"x\": x, \"labels\": labels}")


def _require_input(name: str, value: Any) -> None:
    if name in KEYWORDS:
        raise sc.InvalidError(f"an example input is named '{name}', which is a keyword of Session.run; rename it")
    if not isinstance(value, torch.Tensor):
        raise sc.InvalidError(f"example input '{name}' is a {type(value).__name__}; it must be a tensor whose first "
                              "dimension is that of the batch, or one without dimensions")
    if value.dtype not in TYPES:
        raise sc.InvalidError(f"example input '{name}' has elements of {value.dtype}; inputs can have "
                              f"{', '.join(map(str, TYPES))}: convert it, such as by .float() or .long()")


def dims_of(example: Batch, batch_dims: Mapping[str, int | None] | None) -> Dims:
    """The dimension of rows of each input: what `batch_dims` says, else the first."""
    require_names(example, "example_inputs")
    for name, value in example.items():
        _require_input(name, value)
    dims: Dims = {name: 0 if value.dim() else None for name, value in example.items()}
    for name, dim in (batch_dims or {}).items():
        if name not in example:
            raise sc.InvalidError(
                f"batch_dims= names '{name}', which is no example input; they are {', '.join(example)}")
        rank = example[name].dim()
        if dim is not None and not (isinstance(dim, int) and -rank <= dim < rank):
            raise sc.InvalidError(
                f"batch_dims= says {dim!r} of '{name}', which has {rank} dimensions; say the number of one "
                "of them, or None for a tensor that all ranks give alike")
        dims[name] = dim if dim is None else dim % rank
    return dims


def global_batch(example: Batch, dims: Dims, stated: Iterable[str], whole_batch: bool, shares: int,
                 accumulate: int) -> dict[str, torch.Tensor]:
    """Zeros with the shapes and types of the global batch.

    Checks that ranks share its rows evenly, in so many shares, and that inputs have equally many, but for those whose
    dimension of rows is stated. All ranks call it.
    """
    if whole_batch:
        return {name: torch.zeros_like(value, device="cpu") for name, value in example.items()}
    said, counts = {}, {}
    for name, value in example.items():
        dim = dims[name]
        others = [extent if each != dim else None for each, extent in enumerate(value.shape)]
        said[name] = f"{value.dtype} {value.dim()} dimensions {others}"
        if dim is not None:
            counts[name] = value.shape[dim]
    for name, text in said.items():
        sc.agree_alike(text, f"types or rows of example input '{name}'")
    of_ranks = [json.loads(text) for text in sc.exchange(json.dumps(counts), "rows of the example inputs")]
    _require_equal_rows(dims, set(stated), of_ranks)
    batch = {}
    for name, value in example.items():
        shape = list(value.shape)
        if (dim := dims[name]) is not None:
            shape[dim] = _rows_of_all(name, [each[name] for each in of_ranks], shares, accumulate)
        batch[name] = torch.zeros(shape, dtype=value.dtype)
    return batch


def _require_equal_rows(dims: Dims, stated: set[str], of_ranks: Sequence[Mapping[str, int]]) -> None:
    """Inputs without rows, such as class weights, would be joined like rows of ranks: another number tells them."""
    rows = {name: [each[name] for each in of_ranks] for name, dim in dims.items() if dim is not None}
    known = [rows[name] for name in rows if name in stated]
    unstated = [name for name in rows if name not in stated]
    for name in unstated:
        others = known or [rows[unstated[0]]]
        if rows[name] not in others:
            other = next(each for each in rows if rows[each] == others[0])
            raise sc.InvalidError(
                f"ranks have {rows[name]} rows of example input '{name}' and {others[0]} of '{other}', along the first "
                "dimension of each. Say which has the batch's rows: "
                f"batch_dims={{'{name}': None}} if all ranks give the "
                "same whole tensor, such as a weight or a mask, or the number of the dimension")


def shares_of(total: int, shares: int, ranks: int, accumulate: int) -> list[int]:
    """The rows of each rank where ranks share each of the micro-batches evenly; the first have one more."""
    least, more = divmod(total // accumulate, shares)
    return [accumulate * (least + (rank // (ranks // shares) < more)) for rank in range(ranks)]


def _rows_of_all(name: str, rows: list[int], shares: int, accumulate: int) -> int:
    """The rows that all ranks have of an example input. Each must have its share of each micro-batch."""
    total = sum(rows[::len(rows) // shares])
    if total % accumulate:
        raise sc.InvalidError(
            f"ranks have {rows} rows of example input '{name}', {total} in all; accumulate={accumulate} "
            "does not divide them into equal micro-batches")
    even = shares_of(total, shares, len(rows), accumulate)
    if rows != even:
        micro = "" if accumulate == 1 else f" of each of the {accumulate} micro-batches"
        raise sc.InvalidError(
            f"ranks have {rows} rows of example input '{name}'; to share {total // accumulate} rows{micro} "
            f"evenly they must have {even}")
    return total


# ---- Which dimension is that of rows ----


def require_known_rows(program: torch.export.ExportedProgram, batch: Mapping[str, torch.Tensor], dims: Dims,
                       stated: Iterable[str]) -> None:
    """Checks, of the inputs that batch_dims= does not state, that nothing in the graph says that rows lie elsewhere."""
    graph, signature = program.graph_module.graph, program.graph_signature
    nodes = {node.name: node for node in graph.nodes if node.op == "placeholder"}
    inputs = {name: nodes[given] for name, given in zip(batch, signature.user_inputs) if given in nodes}
    loss = _loss_of(program)
    if loss is None:
        return
    parameters = {nodes[name] for name in signature.inputs_to_parameters if name in nodes}
    unstated = [name for name in inputs if name not in set(stated) and dims[name] is not None]
    for name in unstated:
        others = parameters | {node for other, node in inputs.items() if other != name}
        if len(inputs) > 1 and _rows.is_alone(graph, inputs[name], 0, batch[name].shape[0], others):
            raise sc.InvalidError(
                f"the rows of '{name}' {list(batch[name].shape)} meet no rows of other inputs in the loss, so that it "
                "may be a tensor that all ranks share, such as a weight. "
                f"Say batch_dims={{'{name}': None}} if ranks give "
                f"the same whole tensor, or {{'{name}': 0}} if each has rows of its own")
    for extent in {batch[name].shape[0] for name in unstated}:
        together = [name for name in unstated if batch[name].shape[0] == extent]
        _require_first(graph, loss, {name: inputs[name] for name in together}, batch)


def _require_first(graph: torch.fx.Graph, loss: torch.fx.Node, inputs: Mapping[str, torch.fx.Node],
                   batch: Mapping[str, torch.Tensor]) -> None:
    """Checks that there is no better candidate than the first dimension: one that reaches the loss if it does not."""
    extent = batch[next(iter(inputs))].shape[0]
    first = dict.fromkeys(inputs.values(), 0)
    if _rows.reaches_loss(graph, loss, first, extent):
        return
    for dim in range(1, max(value.dim() for value in batch.values())):
        having = [name for name in inputs if batch[name].dim() > dim]
        for extent in sorted({batch[name].shape[dim] for name in having}):
            starts = {inputs[name]: dim for name in having if batch[name].shape[dim] == extent}
            if not starts or not _rows.reaches_loss(graph, loss, starts, extent):
                continue
            name = next(name for name in having if batch[name].shape[dim] == extent)
            mixing = _rows.mixing_node(graph, first, batch[name].shape[0])
            raise sc.InvalidError(
                f"ranks' parts of '{name}' {list(batch[name].shape)} would be joined along dimension 0, but the loss "
                f"computes the elements of that with each other{_place_of(mixing)}, while those of dimension {dim} "
                "stay apart, as samples do. "
                f"Say batch_dims={{'{name}': {dim}}} if ranks have samples along dimension {dim}, as "
                f"with batch_first=False, or {{'{name}': 0}} if they are along the first")


def _loss_of(program: torch.export.ExportedProgram) -> torch.fx.Node | None:
    names = [each.arg.name for each in program.graph_signature.output_specs if each.kind.name == "USER_OUTPUT"]
    found = [node for node in program.graph_module.graph.nodes if node.name in names[:1]]
    return found[0] if found else None


def _place_of(node: torch.fx.Node | None) -> str:
    return "" if node is None else f", in {node.target}{place_in(node)}"


# ---- All of it ----


class Layout:
    """How the ranks' parts make up the batches that a model is compiled for.

    example, others: this rank's parts of them, or the whole with whole_batch. batch_dims: see compile().
    shares: how many ranks have rows of their own. batches: by the ending of the functions' names, zeros with the shapes
    and types of the global batch. All ranks make it.
    """

    def __init__(self, example: Batch, batch_dims: Mapping[str, int | None] | None, others: Sequence[Batch],
                 whole_batch: bool, shares: int, accumulate: int) -> None:
        self.whole = whole_batch
        self._dims = dims_of(example, batch_dims)
        self._stated = set(batch_dims or {})
        for number, other in enumerate(others):
            _require_like(other, example, number)
        self._is_joined = accumulate > 1 or (shares > 1 and not whole_batch)
        self.batches = {
            f"_{number}" if number else "":
                global_batch(each, self._dims, self._stated, whole_batch, shares, accumulate)
            for number, each in enumerate((example, *others))
        }
        self._types = {name: value.dtype for name, value in example.items()}
        self._pieces = {"train": accumulate, "evaluate": 1}
        self._shapes = {
            suffix: {
                kind: {
                    name: self._of_this_rank(name, value, shares, cut) for name, value in batch.items()
                } for kind, cut in self._pieces.items()
            } for suffix, batch in self.batches.items()
        }

    def _of_this_rank(self, name: str, value: torch.Tensor, shares: int, cut: int) -> Shape:
        dim, shape = self._dims[name], tuple(value.shape)
        if dim is None or self.whole:
            return shape
        return shape[:dim] + (shares_of(shape[dim], shares, sc.size(), cut)[sc.rank()],) + shape[dim + 1:]

    def of(self, name: str) -> sc.Sbp:
        """The layout of an input of the graph."""
        dim = self._dims[name]
        return sc.broadcast() if dim is None else sc.split(dim)

    def require_known_rows(self, program: torch.export.ExportedProgram, batch: Mapping[str, torch.Tensor]) -> None:
        """Checks that the first dimension is that of rows, where it matters. `program`: of the loss in training."""
        if self._is_joined:
            require_known_rows(program, batch, self._dims, self._stated)

    def arrays(self, kind: str, batch: Any) -> tuple[str, dict[str, Any]]:
        """The function for a batch, of the kind "train" or "evaluate", and what it takes. All ranks call it."""
        require_names(batch, "the batch")
        missing = [name for name in self._types if name not in batch]
        if missing:
            raise sc.InvalidError(f"the batch has no {', '.join(missing)}; it needs {', '.join(self._types)}")
        arrays = {
            name: array_of(name, value, self._types[name]) if name in self._types else value
            for name, value in batch.items()
        }
        shapes = {name: tuple(arrays[name].shape) for name in self._types if hasattr(arrays[name], "shape")}
        suffix = self._chosen(kind, shapes)
        if not self.whole:
            arrays = {
                name: _in_pieces(value, self._dims.get(name), self._pieces[kind]) for name, value in arrays.items()
            }
        return kind + suffix, arrays

    def _chosen(self, kind: str, given: Mapping[str, Shape]) -> str:
        """The ending of the function for a batch of these shapes. Where there are several, ranks agree on it: 5 and 6
        rows on 3 ranks are both 2 on the first one. Raises InvalidError, on all ranks, if there is none."""
        fits = [
            suffix for suffix, of in self._shapes.items()
            if all(of[kind][name] == shape for name, shape in given.items())
        ]
        if len(self._shapes) > 1:
            every = [json.loads(text) for text in sc.exchange(json.dumps(fits), "the shape of the batch")]
            fits = [suffix for suffix in fits if all(suffix in each for each in every)]
        if fits or (len(self._shapes) == 1 and self._has_rows(kind, given)):
            return next(iter(fits), "")
        self._refuse(kind, given)
        return ""

    def _has_rows(self, kind: str, given: Mapping[str, Shape]) -> bool:
        """Whether the numbers of rows are those of the example. The session judges what else there is of shapes."""
        wanted = self._shapes[""][kind]
        rows = ((shape, wanted[name], self._dims[name]) for name, shape in given.items())
        return all(dim is None or len(shape) != len(of) or shape[dim] == of[dim] for shape, of, dim in rows)

    def _refuse(self, kind: str, given: Mapping[str, Shape]) -> None:
        name, shape = next(
            ((name, shape)
             for name, shape in given.items()
             if self._dims[name] is not None and all(of[kind][name] != shape for of in self._shapes.values())),
            next(iter(given.items())))
        dim = self._dims[name] or 0
        known = [(of[kind][name], of["train"][name]) for of in self._shapes.values()]
        is_of_rows = all(len(shape) == len(of) for of, _ in known) and shape
        of_batch = f"{shape[dim]} rows" if is_of_rows else f"the shape {list(shape)}"
        needs = " or ".join(dict.fromkeys(str(of[dim] if is_of_rows else list(of)) for of, _ in known))
        call = "step" if kind == "train" else kind
        text = f"the batch has {of_batch} of input '{name}' on this rank; {call} needs {needs}"
        if kind != "train" and any(shape == of for _, of in known):
            raise sc.InvalidError(
                f"{text}: ranks share all rows of its batch evenly, not those of each micro-batch; give "
                "it as many, or compile with whole_batch=True or with a number of rows that ranks "
                "times accumulate divides")
        if any(shape == of for of, _ in known):
            text += ", and all ranks must have batches of one of these shapes"
        raise sc.InvalidError(
            f"{text}, as compile() was given. Give compile() an example of each other shape, such as that "
            "of the last batch: other_inputs=[last]. Or leave that batch out (drop_last=True of a "
            "DataLoader). Rows that fill it up would count in batch norms and in other terms of the loss. "
            "With compile(whole_batch=True) ranks give the whole batch and need not share it")


def _in_pieces(array: Any, dim: int | None, pieces: int) -> Any:
    """This rank's rows as Session.run takes them: micro-batches one behind the other along the first dimension."""
    if pieces == 1 or not dim or not isinstance(array, np.ndarray):
        return array
    return np.concatenate(np.split(array, pieces, axis=dim), axis=0)


def _require_like(batch: Any, example: Batch, number: int) -> None:
    """Checks that a batch of other_inputs differs from the example in extents alone."""
    what = f"other_inputs[{number}]"
    require_names(batch, what)
    if list(batch) != list(example):
        raise sc.InvalidError(f"{what} has {', '.join(batch)}; it must have {', '.join(example)}, as example_inputs")
    for name, value in batch.items():
        other = example[name]
        if not isinstance(value, torch.Tensor) or (value.dtype, value.dim()) != (other.dtype, other.dim()):
            raise sc.InvalidError(
                f"{what} has another type or number of dimensions of '{name}' than example_inputs, which "
                f"has {other.dtype} {list(other.shape)}")
