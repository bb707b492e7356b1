"""The mapping of ATen's ops to Splitcast: a function per op, in the table OPS. See table.py."""
from splitcast.torch.ops import (arithmetic, elementwise, images, losses, products, random, recurrent, selection,
                                 shapes, smooth, sums)
from splitcast.torch.ops.table import OPS, Missing, is_integer, is_tensor
