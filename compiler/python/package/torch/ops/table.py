"""The table of functions that map ATen's ops to Splitcast, by the op's name.

A function takes the importer and the node's arguments, and returns the node's value. Arguments are graph tensors
(splitcast.Tensor), constants (torch.Tensor; PyTorch computes what depends on no input or parameter during the import),
numbers and lists. A function raises Missing for a case that it does not support.

PyTorch's booleans are f32 here, 0 or 1.
"""
import functools
import math
import operator

import splitcast as sc
import torch

OPS = {}


class Missing(Exception):
    """Raised for a case of an op that is not supported; the text completes the error line that begins with the op."""


def op(*names, keeps_constants=False):
    """Registers a function for these ops. keeps_constants: it gets constants as torch.Tensor, not as graph tensors."""
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
