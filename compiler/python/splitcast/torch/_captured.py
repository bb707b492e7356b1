"""What the loss reads of the model, but not as an attribute of its parts."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import splitcast as sc
import torch
import torch.utils._pytree as pytree
from splitcast.torch import _autocast
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode


class AsAttributes(TorchFunctionMode):
    """Within it, a call that is given a parameter or buffer of the model gets what its part has in this place.

    While a model is exported, its parts have stand-ins of their parameters and buffers. The loss, and the model, may
    hold these otherwise, too: in a list, an object or a closure. torch.export would take them there for constants,
    without gradients, and with the values from before the step.

    Raises InvalidError at a call with a tensor that was computed from parameters before.
    """

    def __init__(self, module: torch.nn.Module, used: dict[int, torch.Tensor]) -> None:
        """module: with its own parameters and buffers, not with stand-ins. used: gets the user's tensors that calls are
        given, by id."""
        super().__init__()
        self._used = used
        self._places: dict[int, tuple[dict[str, torch.Tensor | None], str]] = {}
        self._held: list[torch.Tensor] = []  # so that no other tensor gets their ids
        for part in module.modules():
            of_part: list[dict[str, Any]] = [part._parameters, part._buffers]
            for tensors in of_part:
                for key, tensor in tensors.items():
                    if tensor is not None:
                        self._places.setdefault(id(tensor), (tensors, key))
                        self._held.append(tensor)

    def _as_attribute(self, tensor: torch.Tensor) -> torch.Tensor:
        if not isinstance(tensor, FakeTensor) and _is_real(tensor):
            self._used[id(tensor)] = tensor
        tensors, key = self._places.get(id(tensor), ({}, ""))
        standing_in = tensors.get(key)
        if standing_in is not None:
            return standing_in
        if type(tensor) is torch.Tensor and tensor.grad_fn is not None and _is_real(tensor):
            raise sc.InvalidError(
                f"the loss reads a tensor of shape {tuple(tensor.shape)} that was computed from parameters before the "
                f"step, by {tensor.grad_fn.name()}; compute it in the loss, or give it detach()")
        return tensor

    def __torch_function__(self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        args, kwargs = pytree.tree_map_only(torch.Tensor, self._as_attribute, (args, kwargs or {}))
        args, kwargs = _autocast.cast(function, args, kwargs)
        return function(*args, **kwargs)


def _is_real(tensor: torch.Tensor) -> bool:
    """Whether it is no tensor that stands in for one while a model is exported."""
    return not (torch._is_functional_tensor(tensor) or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
                or tensor.is_meta)
