"""Trains PyTorch models by Splitcast.

    import splitcast.torch

    trainer = splitcast.torch.compile(
        model, lambda model, x, labels: F.cross_entropy(model(x), labels),
        example_inputs={"x": x, "labels": labels},           # this rank's rows
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3), enable_zero=2)
    for batch in loader:
        loss = trainer.step(batch)
    model.load_state_dict(trainer.state_dict(), strict=False)  # parameters, and buffers that steps change

The model itself does not change: torch.export gives its graph, and ops/ maps ATen's ops to Splitcast's. Parameters keep
their names, tied parameters stay tied, and frozen ones stay frozen.
"""
try:
    import torch as _torch
except ImportError as error:
    raise ImportError("splitcast.torch needs PyTorch, which is not installed here: pip install torch") from error

from splitcast.torch._trainer import Trainer, compile

__all__ = ["Trainer", "compile"]
