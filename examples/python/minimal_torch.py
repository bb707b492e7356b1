#!/usr/bin/env python3
"""Trains a classifier of PyTorch on all ranks of the job. ZeRO stage 3 splits parameters, gradients and optimizer state
among them. The program needs torch.

    python3 -m splitcast.launch -n 2 minimal_torch.py
"""
import splitcast as sc
import splitcast.torch
import torch
from torch import nn

ROWS, FEATURES, CLASSES, STEPS = 32, 256, 10, 3


def loss_of(model, x, labels):
    return nn.functional.cross_entropy(model(x), labels)


random = torch.Generator().manual_seed(sc.rank())
batch = {"x": torch.randn(ROWS, FEATURES, generator=random),  # this rank's rows
         "labels": torch.randint(0, CLASSES, (ROWS,), generator=random)}

torch.manual_seed(0)  # the same parameters on all ranks
model = nn.Sequential(nn.Linear(FEATURES, 128), nn.ReLU(), nn.Linear(128, CLASSES))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

trainer = splitcast.torch.compile(model, loss_of, batch, optimizer, enable_zero=3)
if sc.rank() == 0:
    print(f"predicted peak: {trainer.report()['peak_bytes'] / 1e6:.3f} MB")
for step in range(STEPS):
    loss = trainer.step(batch)  # of the rows of all ranks
    if sc.rank() == 0:
        print(f"step {step + 1}  loss {loss:.4f}")
trainer.write_back()  # the model gets the trained parameters
