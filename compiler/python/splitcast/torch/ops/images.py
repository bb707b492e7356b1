"""Convolution and pooling."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import splitcast as sc
import torch
from splitcast.torch.ops.products import rows_of
from splitcast.torch.ops.shapes import pad, rows_at, transposed
from splitcast.torch.ops.table import Missing, Sizes, Value, op

if TYPE_CHECKING:
    from splitcast.torch._import import Importer


def _pair(numbers: Sizes | None, default: Sizes | None = None) -> list[int]:
    """The numbers for both dimensions, of which PyTorch may give only one."""
    given = default if numbers is None or numbers == [] else numbers
    if given is None:
        raise Missing("the number for each dimension is left out")
    return [given] * 2 if isinstance(given, int) else list(given) * 2 if len(given) == 1 else list(given)


def _as_image(x: sc.Tensor) -> sc.Tensor:
    """[..., channels, length] as images of height 1."""
    return sc.reshape(x, tuple(x.shape[:-1]) + (1, x.shape[-1]))


def _with_height(numbers: Sizes, height: int) -> list[int]:
    """The numbers for images of height 1, from those for the length."""
    return [height, *_pair(numbers)[:1]]


def _with_bias(importer: Importer, y: sc.Tensor, bias: Value | None) -> sc.Tensor:
    return y if bias is None else y + sc.reshape(importer.tensor(bias), (bias.shape[0], 1, 1))


def _is_of_patches(weight: sc.Tensor, strides: list[int], padding: list[int], dilation: list[int], groups: int,
                   x: sc.Tensor) -> bool:
    """Whether the patches tile the image, so that the convolution is a matrix product, which is faster."""
    kernel = list(weight.shape[2:])
    return (strides == kernel and padding == [0, 0] and dilation == [1, 1] and groups == 1 and
            x.shape[2] % kernel[0] == 0 and x.shape[3] % kernel[1] == 0)


def _of_patches(importer: Importer, x: sc.Tensor, weight: sc.Tensor, bias: Value | None) -> sc.Tensor:
    samples, channels, height, width = x.shape
    outputs, _, rows, columns = weight.shape
    down, across = height // rows, width // columns
    x = sc.reshape(x, (samples, channels, down, rows, across, columns))
    x = sc.reshape(sc.transpose(x, (0, 2, 4, 1, 3, 5)), (samples * down * across, channels * rows * columns))
    y = sc.matmul(x, sc.reshape(weight, (outputs, channels * rows * columns)), transpose_b=True)
    y = y if bias is None else y + importer.tensor(bias)
    return transposed(importer, sc.reshape(y, (samples, down, across, outputs)), [0, 3, 1, 2])


def _same_padding(importer: Importer, x: sc.Tensor, weight: sc.Tensor, strides: list[int],
                  dilation: list[int]) -> sc.Tensor:
    """Pads x as padding 'same' does; if the number is odd, there is one more at the end."""
    if strides != [1, 1]:
        raise Missing(f"padding 'same' with strides {strides} is not supported, only with strides of 1")
    sizes = []
    for kernel, step in reversed(list(zip(weight.shape[2:], dilation))):
        both = step * (kernel - 1)
        sizes += [both // 2, both - both // 2]
    return pad(importer, x, sizes)


@op("aten.conv2d.default", "aten.conv2d.padding")
def conv2d(importer: Importer, x: sc.Tensor, weight: Value, bias: Value | None = None, stride: Sizes = 1,
           padding: Sizes | str = 0, dilation: Sizes = 1, groups: int = 1) -> sc.Tensor:
    weight = importer.tensor(weight)
    strides, dilations = _pair(stride), _pair(dilation)
    if padding == "same":
        x = _same_padding(importer, x, weight, strides, dilations)
    paddings = [0, 0] if isinstance(padding, str) else _pair(padding)
    if _is_of_patches(weight, strides, paddings, dilations, groups, x):
        return _of_patches(importer, x, weight, bias)
    return _with_bias(importer, sc.convolution(x, weight, strides=strides, padding=paddings, dilation=dilations), bias)


@op("aten.conv3d.default", "aten.conv3d.padding", "aten.conv_transpose3d.input", keeps_constants=True)
def conv3d(importer: Importer, x: Value, weight: Value, *ignored: object, **also_ignored: object) -> sc.Tensor:
    raise Missing("convolutions of three dimensions are not supported, only those of one and two")


@op("aten.conv1d.default", "aten.conv1d.padding")
def conv1d(importer: Importer, x: sc.Tensor, weight: Value, bias: Value | None = None, stride: Sizes = 1,
           padding: Sizes | str = 0, dilation: Sizes = 1, groups: int = 1) -> sc.Tensor:
    padding = padding if isinstance(padding, str) else _with_height(padding, 0)
    weight = _as_image(importer.tensor(weight))
    y = conv2d(importer, _as_image(x), weight, bias, _with_height(stride, 1), padding, _with_height(dilation, 1),
               groups)
    return sc.reshape(y, importer.shape())


@op("aten.conv_transpose2d.input")
def conv_transpose2d(importer: Importer, x: sc.Tensor, weight: Value, bias: Value | None = None, stride: Sizes = 1,
                     padding: Sizes = 0, output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1) -> sc.Tensor:
    y = sc.transposed_convolution(x, importer.tensor(weight), strides=_pair(stride), padding=_pair(padding),
                                  dilation=_pair(dilation), output_padding=_pair(output_padding), groups=groups)
    return _with_bias(importer, y, bias)


@op("aten.conv_transpose1d.default")
def conv_transpose1d(importer: Importer, x: sc.Tensor, weight: Value, bias: Value | None = None, stride: Sizes = 1,
                     padding: Sizes = 0, output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1) -> sc.Tensor:
    weight = _as_image(importer.tensor(weight))
    y = conv_transpose2d(importer, _as_image(x), weight, bias, _with_height(stride, 1), _with_height(padding, 0),
                         _with_height(output_padding, 0), groups, _with_height(dilation, 1))
    return sc.reshape(y, importer.shape())


# ---- Pooling ----
def _to_fit(importer: Importer, x: sc.Tensor, shape: Sequence[int], kernel: Sequence[int], strides: Sequence[int],
            padding: Sequence[int], dilation: Sequence[int], value: float) -> sc.Tensor:
    """x with the rows and columns of `value` at its end that the windows of a result of this shape reach beyond it."""
    sizes = []
    for dim in (1, 0):
        reach = (shape[dim - 2] - 1) * strides[dim] + dilation[dim] * (kernel[dim] - 1) + 1
        sizes += [0, max(0, reach - x.shape[dim - 2] - 2 * padding[dim])]
    return pad(importer, x, sizes, value=value)


@op("aten.max_pool2d.default")
def max_pool2d(importer: Importer, x: sc.Tensor, kernel: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
               dilation: Sizes = 1, ceil_mode: bool = False) -> sc.Tensor:
    return _max_pooled(importer, x, importer.shape(), kernel, stride, padding, dilation, ceil_mode)


@op("aten.max_pool2d_with_indices.default")
def max_pool2d_with_indices(importer: Importer, x: sc.Tensor, kernel: Sizes, stride: Sizes | None = None,
                            padding: Sizes = 0, dilation: Sizes = 1, ceil_mode: bool = False) -> list[sc.Tensor | None]:
    _require_no_positions(importer)
    shape = tuple(importer.node.meta["val"][0].shape)
    return [_max_pooled(importer, x, shape, kernel, stride, padding, dilation, ceil_mode), None]


def _max_pooled(importer: Importer, x: sc.Tensor, shape: Sequence[int], kernel: Sizes, stride: Sizes | None,
                padding: Sizes, dilation: Sizes, ceil_mode: bool) -> sc.Tensor:
    kernel, strides, padding, dilation = _pair(kernel), _pair(stride, kernel), _pair(padding), _pair(dilation)
    if ceil_mode:
        x = _to_fit(importer, x, shape, kernel, strides, padding, dilation, -math.inf)
    return sc.max_pool(x, kernel, strides=strides, padding=padding, dilation=dilation)


def _require_no_positions(importer: Importer) -> None:
    if any(user.args[1] != 0 for user in importer.node.users if user.users):
        raise Missing("only its first result is supported, not the positions")


@op("aten.avg_pool2d.default")
def avg_pool2d(importer: Importer, x: sc.Tensor, kernel: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
               ceil_mode: bool = False, count_padding: bool = True, divisor: int | None = None) -> sc.Tensor:
    kernel, strides, padding = _pair(kernel), _pair(stride, kernel), _pair(padding)
    if not ceil_mode and divisor is None and (count_padding or padding == [0, 0]):
        return sc.average_pool(x, kernel, strides=strides, padding=padding)
    wide = _to_fit(importer, x, importer.shape(), kernel, strides, padding, [1, 1], 0.0)
    ones = torch.ones(1, *x.shape[-2:], dtype=torch.float64)
    fitted = torch.nn.functional.pad(ones, [0, wide.shape[-1] - x.shape[-1], 0, wide.shape[-2] - x.shape[-2]])
    # PyTorch says how much more each mean is than one whose divisor is the size of the window.
    of_ones = torch.nn.functional.avg_pool2d(ones, kernel, strides, padding, ceil_mode, count_padding, divisor)
    factors = of_ones / torch.nn.functional.avg_pool2d(fitted, kernel, strides, padding)
    means = sc.average_pool(wide, kernel, strides=strides, padding=padding)
    return means * importer.tensor(factors.to(importer.torch_type(x.dtype)))


def _pooled_volumes(of: Callable[..., sc.Tensor], x: sc.Tensor, kernel: Sizes, stride: Sizes | None,
                    padding: Sizes) -> sc.Tensor:
    """Pools [..., depth, height, width] along the last two dimensions and then along the first: of(x, kernel, ...)."""
    kernel, strides, padding = [_triple(each) for each in (kernel, kernel if stride in (None, []) else stride, padding)]
    samples, channels, depth = x.shape[:3]
    x = of(sc.reshape(x, [samples, channels * depth] + list(x.shape[3:])), kernel[1:], strides=strides[1:],
           padding=padding[1:])
    height, width = x.shape[2:]
    x = of(sc.reshape(x, [samples, channels, depth, height * width]), [kernel[0], 1], strides=[strides[0], 1],
           padding=[padding[0], 0])
    return sc.reshape(x, [samples, channels, x.shape[2], height, width])


def _triple(numbers: Sizes) -> list[int]:
    return [numbers] * 3 if isinstance(numbers, int) else list(numbers) * (3 // len(numbers))


@op("aten.avg_pool3d.default")
def avg_pool3d(importer: Importer, x: sc.Tensor, kernel: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
               ceil_mode: bool = False, count_padding: bool = True, divisor: int | None = None) -> sc.Tensor:
    if ceil_mode or divisor is not None or (any(_triple(padding)) and not count_padding):
        raise Missing("ceil_mode, divisor_override and count_include_pad=False are not supported")
    return _pooled_volumes(sc.average_pool, x, kernel, stride, padding)


@op("aten.max_pool3d.default")
@op("aten.max_pool3d_with_indices.default", with_positions=True)
def max_pool3d(importer: Importer, x: sc.Tensor, kernel: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
               dilation: Sizes = 1, ceil_mode: bool = False, *,
               with_positions: bool = False) -> sc.Tensor | list[sc.Tensor | None]:
    if ceil_mode or _triple(dilation) != [1, 1, 1]:
        raise Missing("ceil_mode and dilation are not supported")
    pooled = _pooled_volumes(sc.max_pool, x, kernel, stride, padding)
    if not with_positions:
        return pooled
    _require_no_positions(importer)
    return [pooled, None]


@op("aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool1d.default")
def adaptive_max_pool(importer: Importer, x: sc.Tensor, sizes: Sequence[int]) -> list[sc.Tensor | None]:
    """The largest of the equal parts into which each dimension is divided."""
    shape = tuple(importer.node.meta["val"][0].shape)
    _require_no_positions(importer)
    extents, sizes = list(x.shape[-len(sizes):]), list(shape[-len(sizes):])
    if any(extent % size for extent, size in zip(extents, sizes)):
        raise Missing(f"{extents} elements cannot be divided into {sizes} equal parts; others are not supported")
    kernel = [extent // size for extent, size in zip(extents, sizes)]
    wide = x if len(kernel) == 2 else _as_image(x)
    return [sc.reshape(sc.max_pool(wide, [1] * (2 - len(kernel)) + kernel), shape), None]


def _along(importer: Importer, x: sc.Tensor, dim: int, weights: torch.Tensor) -> sc.Tensor:
    """The products of x with a constant matrix [extent, new extent] along `dim`."""
    rank = len(x.shape)
    order = [each for each in range(rank) if each != dim] + [dim]
    rows = transposed(importer, x, order)
    wide = sc.matmul(rows_of(rows), importer.tensor(weights.to(importer.torch_type(x.dtype))))
    wide = sc.reshape(wide, list(rows.shape[:-1]) + [weights.shape[1]])
    return transposed(importer, wide, [order.index(each) for each in range(rank)])


def _units(extent: int) -> torch.Tensor:
    """Images of height `extent` and width 1, each of which has a 1 in one place."""
    return torch.eye(extent, dtype=torch.float64).view(1, extent, extent, 1)


@op("aten.upsample_bilinear2d.vec", "aten.upsample_bicubic2d.vec")
@op("aten.upsample_nearest2d.vec", "aten._upsample_nearest_exact2d.vec", copies=True)
def upsample(importer: Importer, x: sc.Tensor, size: Sequence[int] | None, *more: Any,
             copies: bool = False) -> sc.Tensor:
    """Along one dimension after the other. PyTorch says how: it is given images with a 1 in one place. copies: whether
    each element is one of x, not a mean."""
    *corners, factors = more
    if len(x.shape) != 4:
        raise Missing(f"images {list(x.shape)} are not supported, only [samples, channels, height, width]")
    for number, dim in enumerate((2, 3)):
        sizes = None if size is None else [importer.shape()[dim], 1]
        scales = None if factors is None else [factors[number], 1.0]
        units = _units(x.shape[dim])
        weights = importer.target(units, sizes, *corners, scales)[0, :, :, 0]
        x = rows_at(importer, x, dim, weights.argmax(0)) if copies else _along(importer, x, dim, weights)
    return x


@op("aten.adaptive_avg_pool2d.default", "aten.adaptive_avg_pool1d.default")
def adaptive_avg_pool(importer: Importer, x: sc.Tensor, sizes: Sequence[int | None]) -> sc.Tensor:
    """The means of the parts into which each dimension is divided. Of unequal ones PyTorch says which they are."""
    count = len(sizes)
    wanted = [extent if size is None else size for size, extent in zip(sizes, x.shape[-count:])]
    rank = len(x.shape) - count
    if any(extent % size for size, extent in zip(wanted, x.shape[rank:])):
        for dim, size in enumerate(wanted, rank):
            weights = torch.nn.functional.adaptive_avg_pool2d(_units(x.shape[dim]), (size, 1))[0, :, :, 0]
            x = _along(importer, x, dim, weights)
        return x
    parts = [each for size, extent in zip(wanted, x.shape[rank:]) for each in (size, extent // size)]
    wide = sc.reshape(x, list(x.shape[:rank]) + parts)
    return sc.reshape(sc.mean(wide, [rank + 2 * each + 1 for each in range(count)]), importer.shape())
