"""What a model does that no graph can have, and that PyTorch's own error would name wrongly or not at all."""
from __future__ import annotations

import sys
from typing import Any, NoReturn

import splitcast as sc
import torch
import torch.nn.functional as F
from splitcast.torch._places import is_of_user

DATA: Any = vars(torch._C.TensorBase)["data"]  # the attribute `data` of tensors
EMBEDDING, EMBEDDING_BAG = F.embedding, F.embedding_bag
DEVICES = ("cpu", "cuda")
GRADIENTS: list[str] = []  # the user's lines from which the loss has computed gradients in this export


class TracedTensorError(sc.InvalidError):
    """The graph has a tensor that the loss has set or changed where it keeps it; PyTorch does not say where."""


def _refuse_data() -> NoReturn:
    raise sc.InvalidError(
        "the model uses .data of a tensor, which is not part of the exported graph; use .detach() for "
        "values without a gradient, make what forward changes a buffer, and change parameters between "
        "steps")


def _read_data(tensor: torch.Tensor) -> torch.Tensor:
    if is_of_user(sys._getframe(1)):
        _refuse_data()
    data: torch.Tensor = DATA.__get__(tensor)
    return data


def _set_data(tensor: torch.Tensor, value: torch.Tensor) -> None:
    if is_of_user(sys._getframe(1)):
        _refuse_data()
    DATA.__set__(tensor, value)


def _without_max_norm(function: Any) -> Any:

    def call(*arguments: Any, **keywords: Any) -> Any:
        norm = keywords.get("max_norm", arguments[3] if len(arguments) > 3 else None)  # of both functions
        if norm is not None:
            raise sc.InvalidError(
                f"the model has an embedding with max_norm={norm}, whose forward changes the rows of its "
                "weight that it reads; leave max_norm out, and scale the looked-up rows in forward, or "
                "the weight between steps")
        return function(*arguments, **keywords)

    return call


def places() -> list[tuple[Any, str, Any]]:
    """What is replaced while a model is exported: triples of what has an attribute, its name and its value."""
    return [(torch.Tensor, "data", property(_read_data, _set_data)), (F, "embedding", _without_max_norm(EMBEDDING)),
            (F, "embedding_bag", _without_max_norm(EMBEDDING_BAG))]


def require_no_autocast(call: str) -> None:
    """Autocast around a call would be ignored: the graph has that of the loss function alone."""
    if any(torch.is_autocast_enabled(device) for device in DEVICES):
        raise sc.InvalidError(
            f"torch.autocast is on around {call}, where it has no effect; enter it within the loss function, "
            "around the call of the model, or give enable_zero={\"compute_type\": \"bf16\"}")
