"""Trains PyTorch models by Splitcast.

    import splitcast.torch

    trainer = splitcast.torch.compile(
        model, lambda model, x, labels: F.cross_entropy(model(x), labels),
        example_inputs={"x": x, "labels": labels},           # this rank's rows
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3), enable_zero=2)
    for batch in loader:
        loss = trainer.step(batch)
    trainer.write_back()  # the model gets the parameters, and the buffers that steps change

Steps do not change the model itself: torch.export gives its graph, and ops/ maps ATen's ops to Splitcast's. Parameters
keep their names, tied parameters stay tied, and frozen ones stay frozen.
"""
try:
    import torch as _torch  # noqa: F401 (it only has to be there)
except ImportError as error:
    raise ImportError("splitcast.torch needs PyTorch, which is not installed here: pip install torch") from error

from splitcast.torch._batches import Batch
from splitcast.torch._compile import Policy, compile
from splitcast.torch._export import Loss
from splitcast.torch._trainer import Trainer

__all__ = ["Batch", "Loss", "Policy", "Trainer", "compile"]
