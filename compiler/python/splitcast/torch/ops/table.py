"""The table of functions that map ATen's ops to Splitcast, by the op itself: an overload such as aten.add.Tensor.

A function takes the importer and the node's arguments, and returns the node's value. Arguments are graph tensors
(splitcast.Tensor), constants (torch.Tensor; PyTorch computes what depends on no input or parameter during the import),
numbers and lists. A function raises Missing for a case that it does not support.

PyTorch's booleans are f32 here, 0 or 1.
"""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar

import splitcast as sc
import torch

if TYPE_CHECKING:
    from splitcast.torch._import import Importer

Value: TypeAlias = "sc.Tensor | torch.Tensor"  # a tensor of the graph, or a constant
Operand: TypeAlias = "Value | float"
Sizes: TypeAlias = int | Sequence[int]  # of all dimensions, or of each
Unary: TypeAlias = "Callable[[sc.Tensor], sc.Tensor]"
Binary: TypeAlias = "Callable[[sc.Tensor, sc.Tensor], sc.Tensor]"
Function: TypeAlias = Callable[..., Any]  # each has the parameters and the results of its op

INVALID = "it has an operand that is not valid"  # what the graph cannot express; it has no type and no shape
ATEN = torch.ops.aten
OPS: dict[Function, Function] = {operator.getitem: lambda importer, values, index: values[index]}
ABSENT: list[str] = []  # names of ops that this version of PyTorch does not have
KEEPING: set[Function] = set()  # those that get constants as torch.Tensor, not as graph tensors
Registered = TypeVar("Registered", bound=Function)


class Missing(Exception):
    """Raised for a case of an op that is not supported; the text completes the error line that begins with the op."""


def op(*names: str, keeps_constants: bool = False, **differences: object) -> Callable[[Registered], Registered]:
    """Registers a function for these ops, by their names, since older versions of PyTorch lack some.

    keeps_constants: it gets constants as torch.Tensor, not as graph tensors. differences: keyword arguments that it
    gets for these ops, by which they differ from others that it has.
    """

    def add(function: Registered) -> Registered:
        of_these: Function = functools.partial(function, **differences) if differences else function
        if keeps_constants:
            KEEPING.add(of_these)
        for name in names:
            packet, overload = name.removeprefix("aten.").split(".")
            found = getattr(getattr(ATEN, packet, None), overload, None)
            if found is None:
                ABSENT.append(name)
            else:
                OPS[found] = of_these
        return function

    return add


def is_tensor(value: object) -> TypeGuard[sc.Tensor]:
    return isinstance(value, sc.Tensor)


def positive(dim: int, rank: int) -> int:
    return dim + rank if dim < 0 else dim


def is_integer(x: Value) -> bool:
    return x.dtype in (sc.i32, sc.i64)


def type_of(x: sc.Tensor) -> sc.ElementType:
    if x.dtype is None:
        raise Missing(INVALID)
    return x.dtype


def as_type(x: sc.Tensor, dtype: sc.ElementType | None) -> sc.Tensor:
    """x cast to the type. None is the type of an invalid tensor."""
    if x.dtype == dtype:
        return x
    if dtype is None:
        raise Missing(INVALID)
    return sc.cast(x, dtype)


def product_of(numbers: Iterable[int]) -> int:
    return functools.reduce(operator.mul, numbers, 1)


def expand_to(importer: Importer, x: Value, shape: Sequence[int]) -> sc.Tensor:
    x = importer.tensor(x)
    return x if tuple(x.shape) == tuple(shape) else sc.broadcast_to(x, shape)
