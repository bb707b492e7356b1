"""PyTorch's models, trained by Splitcast.

    import splitcast.torch

    trainer = splitcast.torch.compile(
        model, lambda model, x, labels: F.cross_entropy(model(x), labels),
        example_inputs={"x": x, "labels": labels},           # this rank's rows
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3), enable_zero=2)
    for batch in loader:
        loss = trainer.step(batch)
    model.load_state_dict(trainer.state_dict(), strict=False)  # parameters, and buffers that steps change

The model is left as it is: torch.export gives its graph, ops/ maps ATen's ops to Splitcast's, parameters keep their
names, and tied and frozen ones stay so.
"""
try:
    import torch as _torch
except ImportError as error:
    raise ImportError("splitcast.torch needs PyTorch, which this interpreter does not have: pip install torch") from error

from splitcast.torch._trainer import Trainer, compile

__all__ = ["Trainer", "compile"]
