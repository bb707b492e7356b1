"""The mapping of ATen's ops to Splitcast: a function per op, in the table OPS. See table.py."""
from splitcast.torch.ops import (  # noqa: F401 (each puts its functions into OPS)
    arithmetic,
    elementwise,
    images,
    losses,
    products,
    random,
    recurrent,
    selection,
    shapes,
    smooth,
    sums,
)
from splitcast.torch.ops.table import ABSENT, ATEN, KEEPING, OPS, Function, Missing, is_integer, is_tensor

__all__ = ["ABSENT", "ATEN", "KEEPING", "OPS", "Function", "Missing", "is_integer", "is_tensor"]
