"""Parameters and buffers that share memory. What PyTorch has in one place is one variable of the graph."""
from __future__ import annotations

import itertools
from typing import Any

import splitcast as sc
import torch
from splitcast.torch._following import partition_of


class Sharing:
    """The names of a model's parameters, and under which of them each is held: that of the first that is trained of
    those that are the same elements of the same memory.

    Raises InvalidError if trained parameters share memory in another way, such as transposed.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        self._parameters: dict[str, torch.Tensor] = dict(module.named_parameters(remove_duplicate=False))
        self._canonical: dict[str, str] = {}
        self._groups = partition_of(self._parameters)
        for names in self._groups:
            first = next((name for name in names if self._parameters[name].requires_grad), names[0])
            self._canonical.update((name, first) for name in names)
        self._require_apart(module)

    def name_of(self, name: str) -> str:
        return self._canonical.get(name, name)

    def with_variables(self, names: set[str]) -> set[str]:
        """These names, and those of the variables that hold these parameters."""
        return names | {self.name_of(name) for name in names}

    def require_one_update(self, optimizer: object, options: dict[str, Any]) -> None:
        """Checks that one update by the sum of gradients is what PyTorch does with parameters that share memory but are
        several objects: it updates the memory by each of their gradients."""
        if not isinstance(optimizer, torch.optim.Optimizer):
            return
        group_of = {id(parameter): number for number, group in enumerate(optimizer.param_groups)
                    for parameter in group["params"]}
        for names in self._groups:
            trained = {id(self._parameters[name]): name for name in names if self._parameters[name].requires_grad}
            if len(trained) < 2:
                continue
            numbers = {group_of.get(each) for each in trained}
            group = optimizer.param_groups[next(iter(numbers)) or 0]
            is_linear = type(optimizer) is torch.optim.SGD and not group["weight_decay"] and len(numbers) == 1
            norms = [name for name in ("clip_norm", "clip_value", "gradient_norm") if options.get(name)]
            if not is_linear or None in numbers or norms:
                raise sc.InvalidError(
                    f"parameters {', '.join(trained.values())} share memory but are several parameters, which PyTorch "
                    "updates one after the other; this is one update only with torch.optim.SGD without weight_decay "
                    "and clipping, in one group; tie them as one parameter: a.weight = b.weight")

    def _require_apart(self, module: torch.nn.Module) -> None:
        tensors = {**self._parameters, **dict(module.named_buffers(remove_duplicate=False))}
        of_storage: dict[int, list[tuple[int, int, str]]] = {}
        for name, tensor in tensors.items():
            if tensor.numel() and self.name_of(name) == name and tensor.layout == torch.strided:
                first, last = range_of(tensor)
                of_storage.setdefault(tensor.untyped_storage()._cdata, []).append((first, last, name))
        for ranges in of_storage.values():
            ranges.sort()
            for (_, end, name), (begin, _, other) in itertools.pairwise(ranges):
                is_same = partition_of({name: tensors[name], other: tensors[other]}) == [[name, other]]
                if begin <= end and not is_same and (tensors[name].requires_grad or tensors[other].requires_grad):
                    raise sc.InvalidError(f"'{name}' and '{other}' share memory, but not as the same elements in the "
                                          "same order; make one of them an expression of the other in forward, such as "
                                          "self.weight.t()")


def do_overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one storage may have elements in common."""
    (first, last), (begin, end) = range_of(one), range_of(other)
    return bool(one.numel() and other.numel() and first <= end and begin <= last)


def range_of(tensor: torch.Tensor) -> tuple[int, int]:
    """The first and the last byte of the storage that belong to elements."""
    first = int(tensor.storage_offset()) * tensor.element_size()
    extent = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return first, first + (extent + 1) * tensor.element_size() - 1
