"""What a step depends on beside its program and its tensors: PyTorch's modes around compile() and around the step."""
from __future__ import annotations

import splitcast as sc
import torch
from splitcast.torch import _causes
from splitcast.torch._again import AGAIN


class Surroundings:
    """The modes that compile() was called in."""

    def __init__(self) -> None:
        _causes.require_no_autocast("compile()")
        if not torch.is_grad_enabled() or torch.is_inference_mode_enabled():
            raise sc.InvalidError("compile() is called where gradients are off (torch.no_grad or inference_mode), in "
                                  "which eager PyTorch could not train; call it outside of that block")
        self._default = torch.get_default_dtype()

    def require(self, trains: bool) -> None:
        """Raises InvalidError if a mode is another one now. trains: whether this is a step, which needs gradients."""
        _causes.require_no_autocast("step()" if trains else "evaluate()")
        if (now := torch.get_default_dtype()) != self._default:
            raise sc.InvalidError(f"the default type is {now}, but it was {self._default} when the model was "
                                  f"compiled; set it back by torch.set_default_dtype, or {AGAIN}")
        if trains and not torch.is_grad_enabled():
            raise sc.InvalidError("a step is taken where gradients are off (torch.no_grad or inference_mode), in which "
                                  "eager PyTorch could not train; call step() outside of that block")
