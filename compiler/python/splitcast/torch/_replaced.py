"""Functions of PyTorch that are replaced while a model is exported: what they do would be missing in the graph, or they
look at values, which it does not have."""
from __future__ import annotations

import contextlib
import importlib
import logging
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import splitcast as sc
import torch
import torch.nn.functional as F
import torch.utils.checkpoint as checkpoint
from splitcast.torch import _causes, _places
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.nn.modules.batchnorm import _BatchNorm

LOGS = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes", "torch.export._trace")
Places = Sequence[tuple[Any, str, Any]]  # what has an attribute, the attribute's name, and its value
HOOKS = ("register_hook", "register_post_accumulate_grad_hook")
NORMALIZE = _BatchNorm.forward
GAUSSIAN_NLL = F.gaussian_nll_loss
REQUIRE_GRAD = torch.Tensor.requires_grad_
NUMPY = torch.Tensor.numpy
INFERENCE = torch.inference_mode.__enter__
RUN_BACKWARD: Any = vars(torch.autograd)["_engine_run_backward"]  # of torch.autograd.grad, whoever has imported it


def _apply(kind: type, /, *arguments: Any, **keywords: object) -> Any:
    if kind is checkpoint.CheckpointFunction:  # which computes the same: the compiler decides what to compute again
        function, _, *operands = arguments
        return function(*operands)
    if "grouped_mm" in kind.__name__:  # of transformers
        raise sc.InvalidError("the model computes its experts by grouped_mm, which is not supported; call "
                              "model.set_experts_implementation(\"batched_mm\") before")
    raise sc.InvalidError(
        f"{kind.__name__} has a backward of its own, which is not part of the exported graph; write it with detach()")


def _refuse_hook(tensor: torch.Tensor, hook: object) -> NoReturn:
    raise sc.InvalidError("the loss gives a tensor a gradient hook, which would not be called; write it with detach()")


def _refuse_backward(*arguments: object, **keywords: object) -> NoReturn:
    raise sc.InvalidError("the loss calls backward(), which would change no gradient; return the sum of all losses")


def _to_numpy(tensor: torch.Tensor, *arguments: Any, **keywords: Any) -> Any:
    if isinstance(tensor, (FakeTensor, FunctionalTensor)):
        raise sc.InvalidError("the loss takes the array of a tensor by numpy(), which is not part of the exported "
                              "graph; compute with PyTorch's functions, or give what NumPy computes as an input")
    return NUMPY(tensor, *arguments, **keywords)


def _run_backward(*arguments: Any, **keywords: Any) -> Any:
    """Notes from which line of the user gradients are computed: an export may fail because of them, much later."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not _places.is_of_user(frame):
        frame = frame.f_back
    _causes.GRADIENTS.append(_places.line_of(frame) if frame is not None else "by torch.autograd.grad")
    return RUN_BACKWARD(*arguments, **keywords)


def _refuse_packed(*arguments: object, **keywords: object) -> NoReturn:
    raise sc.InvalidError("the model calls pack_padded_sequence, which is not supported: its sizes depend on values; "
                          "give the RNN the padded sequences, and mask what lies behind their ends")


def _normalize(part: _BatchNorm, x: torch.Tensor) -> torch.Tensor:
    """With momentum None, running statistics are the means of all batches; PyTorch takes float() of their number."""
    if part.momentum is not None or not part.training or not part.track_running_stats:
        return NORMALIZE(part, x)
    part._check_input_dim(x)
    assert part.num_batches_tracked is not None  # since it tracks statistics
    part.num_batches_tracked.add_(1)
    variance, mean = torch.var_mean(x.detach(), [dim for dim in range(x.dim()) if dim != 1])
    for running, of_batch in ((part.running_mean, mean), (part.running_var, variance)):
        assert running is not None
        running.add_((of_batch - running) / part.num_batches_tracked)
    return F.batch_norm(x, None, None, part.weight, part.bias, True, 0.0, part.eps)


def _gaussian_nll(input: torch.Tensor, target: torch.Tensor, var: torch.Tensor | float, full: bool = False,
                  eps: float = 1e-6, reduction: str = "mean") -> torch.Tensor:
    """Without its check that no variance is below 0, which it makes by torch.any. It raises variances to eps where no
    gradients are recorded, so that gradients pass as if they had not been raised."""
    if isinstance(var, torch.Tensor):
        var = torch.where(var < eps, eps + (var - var.detach()), var)
    with _set([(torch, "any", lambda condition: False), (torch.Tensor, "clamp_", lambda var, min: var)]):
        return GAUSSIAN_NLL(input, target, var, full=full, eps=eps, reduction=reduction)


def _is_causal(mask: torch.Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    return is_causal is True


def _refuse_inference(mode: torch.inference_mode) -> None:
    if mode.mode:
        raise sc.InvalidError("the loss enters torch.inference_mode, which the exported graph does not have; use "
                              "torch.no_grad, or detach()")
    INFERENCE(mode)


def _require_grad(tensor: torch.Tensor, requires_grad: bool = True) -> torch.Tensor:
    if isinstance(tensor, torch.nn.Parameter) and tensor.requires_grad != requires_grad:
        raise sc.InvalidError("the loss changes requires_grad of a parameter while it is computed, which a compiled "
                              "step would not do again; do it before compile(), or use detach()")
    return REQUIRE_GRAD(tensor, requires_grad)


@contextlib.contextmanager
def _set(places: Places) -> Iterator[None]:
    """Sets attributes for a while: triples of what has them, their names and their values."""
    before = [(holder, name, vars(holder)[name] if name in vars(holder) else getattr(holder, name))
              for holder, name, _ in places]
    try:
        for holder, name, value in places:
            setattr(holder, name, value)
        yield
    finally:
        for holder, name, value in before:
            setattr(holder, name, value)


def replaced() -> contextlib.AbstractContextManager[None]:
    return _set([(torch.autograd.Function, "apply", classmethod(_apply)), (_BatchNorm, "forward", _normalize),
                 (F, "gaussian_nll_loss", _gaussian_nll), (torch.Tensor, "requires_grad_", _require_grad),
                 (torch.Tensor, "numpy", _to_numpy), (torch.inference_mode, "__enter__", _refuse_inference),
                 (torch.autograd, "_engine_run_backward", _run_backward),
                 # By which PyTorch finds a faster kernel that computes the same: it looks at the mask's elements.
                 (torch.nn.modules.transformer, "_detect_is_causal_mask", _is_causal),
                 (torch._VF, "_pack_padded_sequence", _refuse_packed)] + [
                     (holder, "backward", _refuse_backward) for holder in (torch.Tensor, torch.autograd)] + [
                         (torch.Tensor, name, _refuse_hook) for name in HOOKS] + _causes.places() +
                _places.recording())


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without what PyTorch prints before the errors of an export: traces of its own, and all of the graph."""
    logs = [logging.getLogger(name) for name in LOGS]
    before = [log.disabled for log in logs]
    exporter: Any = importlib.import_module("torch.export._trace")  # which PyTorch imports late
    try:
        exporter.print = lambda *text, **options: None
        for log in logs:
            log.disabled = True
        yield
    finally:
        del exporter.print
        for log, value in zip(logs, before):
            log.disabled = value
