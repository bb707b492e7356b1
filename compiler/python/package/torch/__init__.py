"""PyTorch's models, trained by Splitcast.

    import splitcast.torch

    trainer = splitcast.torch.compile(
        model, lambda model, x, labels: F.cross_entropy(model(x), labels),
        example_inputs={"x": x, "labels": labels},           # this rank's rows
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3), enable_zero=2)
    for batch in loader:
        loss = trainer.step(batch)
    model.load_state_dict(trainer.state_dict())

The model is left as it is: torch.export gives its graph, _ops.py maps ATen's ops to Splitcast's, parameters keep their
names, and tied and frozen ones stay so.
"""
from splitcast.torch._trainer import Trainer, compile

__all__ = ["Trainer", "compile"]
