"""Finds out whether the user has written to a tensor, in any way, mostly without reading its elements.

A tensor's `_version` counts writes, but not those through `.data`. So a watched tensor is made copy-on-write, as
PyTorch's lazy clones are: the first write to its memory through any tensor that shares it moves it to other memory,
which is what is looked for. It costs no memory before that write, and one copy after it.

That is done only to memory that one tensor alone has. Others may hold its address, as a NumPy array does: what they
write would not be seen, and they would keep the address of memory that is given back. Such a tensor's elements are
compared with a copy. (Addresses that nothing holds a reference for, such as those that data_ptr() gives, are not
known.)
"""
from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

_is_copied_on_write = torch._C._is_cow_tensor  # type: ignore[attr-defined]  # PyTorch's stub lacks it
_address_of = torch._C._data_address  # type: ignore[attr-defined]  # of its memory, which this does not write to
_uses_of = torch._C._storage_Use_Count
_Guards = torch._C._dynamo.guards.TensorGuards  # compares types, shapes and strides of many tensors, in C++
ALONE = 2  # uses of memory: a tensor, and the object by which they are counted


class Watch:
    """A tensor, and the elements that it had when arm() was called last."""

    def __init__(self, name: str, tensor: torch.Tensor, aliases: int = 0) -> None:
        """aliases: how many further tensors of ours have the same memory, through which nothing is written."""
        self.name = name
        self.tensor = tensor
        self._uses = ALONE + aliases
        self.arm()

    def arm(self) -> None:
        """Takes the elements of now as known."""
        self.is_cheap = self.is_another = False
        self._version = _version_of(self.tensor)
        try:
            if _uses_of(self.tensor.untyped_storage()._cdata) == self._uses:
                self.known = torch._lazy_clone(self.tensor.detach())
                self.is_cheap = bool(_is_copied_on_write(self.tensor))
        except (RuntimeError, NotImplementedError):  # memory of another kind: shared, or mapped from a file
            pass
        if not self.is_cheap:
            self.known = self.tensor.detach().clone()

    def is_untouched(self) -> bool:
        """Whether the tensor is the same view of the same memory as at arm(), and nothing was written there since."""
        return self.is_cheap and bool(_address_of(self.tensor) == _address_of(
            self.known)) and self.tensor.shape == self.known.shape and self.tensor.stride() == self.known.stride()

    def put(self, tensor: torch.Tensor) -> None:
        """Another tensor is in the place of this one, or other elements are; they are not known until arm()."""
        self.tensor = tensor
        self.is_cheap, self.is_another = False, True

    def may_be_written(self) -> bool:
        """Whether something may have been written since arm(), be it the elements that were there."""
        return self.is_cheap or self.is_another or _version_of(self.tensor) != self._version

    def is_changed(self) -> bool:
        """Whether type, shape or bits are others. If not, the tensor is watched anew."""
        now = self.tensor.detach()
        known = self.known
        if (now.dtype, now.shape, now.device) != (known.dtype, known.shape, known.device):
            return True
        if not has_same_bits(now, known):
            return True
        if self.is_cheap or self.is_another:
            self.arm()
        return False


class Watches:
    """Watched tensors by name."""

    def __init__(self, tensors: Iterable[tuple[str, torch.Tensor]], aliases: Iterable[torch.Tensor] = ()) -> None:
        """aliases: our own tensors that may share memory with these."""
        count = collections.Counter(memory_of(each) for each in aliases)
        self.all = [Watch(name, tensor, count[memory_of(tensor)] if count else 0) for name, tensor in tensors]
        self.epoch = 0
        self.sort()

    def sort(self) -> None:
        self.epoch += 1
        self._cheap = [each.tensor for each in self.all if each.is_cheap]
        self._addresses = [_address_of(each.known) for each in self.all if each.is_cheap]
        known = [each.known for each in self.all if each.is_cheap]
        shapes: Any = [list(each.shape) for each in known]  # PyTorch's stub says something else
        strides: Any = [list(each.stride()) for each in known]
        self._layouts = None
        if known:
            self._layouts = _Guards(*self._cheap, dynamic_dims_sizes=shapes, dynamic_dims_strides=strides)
        self._others = [each for each in self.all if not each.is_cheap]

    def changed(self, are_strict: Callable[[str], bool] = lambda name: False) -> list[Watch]:
        """Those whose elements have changed since they were armed; of `are_strict` names also those whose memory was
        only given out for writing, or whose `_version` is another, since a write that leaves the elements as they are
        looks so, too, and tensors in
        whose place another one was put."""
        if not self._others and list(map(_address_of, self._cheap)) == self._addresses and (
                self._layouts is None or self._layouts.check(*self._cheap)):
            return []
        found = [each for each in self.all if not each.is_untouched() and (
            (each.may_be_written() and are_strict(each.name)) or each.is_changed())]
        self.sort()
        return found

    def keep_flags(self, tensors: Iterable[torch.Tensor]) -> bool:
        """Whether changed() looks at `requires_grad` of all these tensors, so that no flag is another one as long as
        `epoch` is the same."""
        return {id(each) for each in tensors} <= {id(each) for each in self._cheap}

    def note_written(self, memory: set[int]) -> None:
        """We have written to this memory, be it what it had before."""
        for each in self.all:
            if memory_of(each.tensor) in memory:
                each.put(each.tensor)
        self.sort()

    def arm(self, watches: Iterable[Watch]) -> None:
        for each in watches:
            each.arm()
        self.sort()


def _version_of(tensor: torch.Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


def has_same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of a type and shape have the same elements; NaN is like itself."""
    if torch.equal(one, other):
        return True
    if not (one.dtype.is_floating_point or one.dtype.is_complex):
        return False
    return bool(((one == other) | (one != one) & (other != other)).all())


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor, row-major, as integers of 8 bits; no copy if they lie so."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return (flat if flat.stride(0) == 1 else torch.cat((flat,))).view(torch.uint8)


def memory_of(tensor: torch.Tensor) -> int:
    """What tensors have in common that share memory."""
    return int(tensor.untyped_storage()._cdata)


Place = tuple[int, int | torch.SymInt, tuple[int, ...], tuple[int, ...], torch.dtype]


def place_of(tensor: torch.Tensor) -> Place:
    """What two tensors have in common if they are the same elements of the same memory."""
    return (tensor.untyped_storage()._cdata, tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()),
            tensor.dtype)


def has_place(tensor: torch.Tensor) -> bool:
    """Whether the tensor has memory; those that tracing makes in place of the loss's own have none."""
    if isinstance(tensor, FakeTensor):
        return False
    try:
        place_of(tensor)
    except (RuntimeError, NotImplementedError, AttributeError):
        return False
    return True
