"""Functions of PyTorch that are replaced while a model is exported: what they do would be missing in the graph, or they
look at values, which it does not have."""
import contextlib
import importlib
import logging

import splitcast as sc
import torch
import torch.nn.functional as F
import torch.utils.checkpoint as checkpoint
from torch.nn.modules.batchnorm import _BatchNorm

LOGS = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes", "torch.export._trace")
HOOKS = ("register_hook", "register_post_accumulate_grad_hook")
NORMALIZE = _BatchNorm.forward
GAUSSIAN_NLL = F.gaussian_nll_loss


def _apply(kind, *arguments, **keywords):
    if kind is checkpoint.CheckpointFunction:  # which computes the same: the compiler decides what to compute again
        function, _, *operands = arguments
        return function(*operands)
    if "grouped_mm" in kind.__name__:  # of transformers
        raise sc.InvalidError("the model computes its experts by grouped_mm, which is not supported; call "
                              "model.set_experts_implementation(\"batched_mm\") before")
    raise sc.InvalidError("%s has a backward of its own, which is not part of the exported graph; write it with "
                          "detach()" % kind.__name__)


def _refuse_hook(tensor, hook):
    raise sc.InvalidError("the loss gives a tensor a gradient hook, which would not be called; write it with detach()")


def _refuse_backward(*arguments, **keywords):
    raise sc.InvalidError("the loss calls backward(), which would change no gradient; return the sum of all losses")


def _refuse_packed(*arguments, **keywords):
    raise sc.InvalidError("the model calls pack_padded_sequence, which is not supported: its sizes depend on values; "
                          "give the RNN the padded sequences, and mask what lies behind their ends")


def _normalize(part, x):
    """With momentum None, running statistics are the means of all batches; PyTorch takes float() of their number."""
    if part.momentum is not None or not part.training or not part.track_running_stats:
        return NORMALIZE(part, x)
    part._check_input_dim(x)
    part.num_batches_tracked.add_(1)
    variance, mean = torch.var_mean(x.detach(), [dim for dim in range(x.dim()) if dim != 1])
    for running, of_batch in ((part.running_mean, mean), (part.running_var, variance)):
        running.add_((of_batch - running) / part.num_batches_tracked)
    return F.batch_norm(x, None, None, part.weight, part.bias, True, 0.0, part.eps)


def _gaussian_nll(*arguments, **keywords):
    """Without its check that no variance is below 0, which it makes by torch.any."""
    with _set([(torch, "any", lambda condition: False)]):
        return GAUSSIAN_NLL(*arguments, **keywords)


@contextlib.contextmanager
def _set(places):
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


def replaced():
    return _set([(torch.autograd.Function, "apply", classmethod(_apply)), (_BatchNorm, "forward", _normalize),
                 (F, "gaussian_nll_loss", _gaussian_nll), (torch._VF, "_pack_padded_sequence", _refuse_packed)] + [
                     (holder, "backward", _refuse_backward) for holder in (torch.Tensor, torch.autograd)] + [
                         (torch.Tensor, name, _refuse_hook) for name in HOOKS])


@contextlib.contextmanager
def quiet():
    """Without what PyTorch prints before the errors of an export: traces of its own, and all of the graph."""
    logs = [logging.getLogger(name) for name in LOGS]
    before = [log.disabled for log in logs]
    exporter = importlib.import_module("torch.export._trace")  # which PyTorch imports late
    try:
        exporter.print = lambda *text, **options: None
        for log in logs:
            log.disabled = True
        yield
    finally:
        del exporter.print
        for log, value in zip(logs, before):
            log.disabled = value
