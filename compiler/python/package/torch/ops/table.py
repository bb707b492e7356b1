"""What each of ATen's ops is in Splitcast: one function per op, under its name.

A function takes the importer, the node's arguments, and gives the node's value. Arguments are graph tensors
(splitcast.Tensor), constants (torch.Tensor: what depends on no input and no parameter is computed by PyTorch while the
graph is imported), numbers and lists. It raises Missing for a case that it has no answer for.

Booleans of PyTorch are f32 here, 0 or 1.
"""
import functools
import math
import operator

import splitcast as sc
import torch

OPS = {}


class Missing(Exception):
    """A case of an op that has no mapping, and why."""


def op(*names, keeps_constants=False):
    """keeps_constants: the function looks at constants itself; others get them as graph tensors."""
    def add(function):
        function.keeps_constants = keeps_constants
        for name in names:
            OPS[name] = function
        return function

    return add


def is_tensor(value):
    return isinstance(value, sc.Tensor)


def positive(dim, rank):
    return dim + rank if dim < 0 else dim


def is_integer(x):
    return x.dtype in (sc.i32, sc.i64)


def as_type(x, dtype):
    return x if x.dtype == dtype else sc.cast(x, dtype)


def product_of(numbers):
    return functools.reduce(operator.mul, numbers, 1)


def expand_to(importer, x, shape):
    x = importer.tensor(x)
    return x if tuple(x.shape) == tuple(shape) else sc.broadcast_to(x, shape)
