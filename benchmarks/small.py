"""Compares steps of small models through splitcast.torch with eager PyTorch and torch.compile, in one process.

    PYTHONPATH=bazel-bin/compiler/python PYTHON benchmarks/small.py [--rounds=5] [--steps=20] [MODEL...]

PYTHON is a Python that has PyTorch and NumPy. Each side trains a copy of the same model on the same batches; a round is
so many steps of each side, one side after the other, so that other load slows all. The first round is not counted. It
prints the median and the least milliseconds per step, and how many steps of ours fit into one of each side. The exit
status is 1 if one of the first five losses of ours is more than 1e-4 away from eager's (relative).

torch.compile needs a C++ compiler. All sides use as many threads as the process may use processors: `taskset -c 0`
before the command leaves one.
"""
from __future__ import annotations

import argparse
import copy
import itertools
import statistics
import sys
import time
from collections.abc import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F

Tensors = dict[str, torch.Tensor]
Loss = Callable[..., torch.Tensor]


class Attended(nn.Module):
    """A block of a transformer whose norms come first."""

    def __init__(self, width: int, heads: int, is_causal: bool) -> None:
        super().__init__()
        self.heads, self.is_causal = heads, is_causal
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, positions, width = x.shape
        q, k, v = [each.view(rows, positions, self.heads, width // self.heads).transpose(1, 2)
                   for each in self.qkv(self.ln1(x)).split(width, dim=2)]
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal)
        x = x + self.out(seen.transpose(1, 2).reshape(rows, positions, width))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


class Gpt(nn.Module):

    def __init__(self, vocabulary: int, width: int = 128, layers: int = 4, context: int = 64) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Attended(width, 4, True) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Encoder(nn.Module):

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(2000, 256)
        self.blocks = nn.ModuleList(Attended(256, 4, False) for _ in range(2))
        self.head = nn.Linear(256, 4)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


class Lstm(nn.Module):

    def __init__(self) -> None:
        super().__init__()
        self.r, self.head = nn.LSTM(32, 128, batch_first=True), nn.Linear(128, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.r(x)[0][:, -1])


class Residual(nn.Module):

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.c1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.c2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.b1, self.b2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.short = nn.Identity() if stride == 1 else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.b2(self.c2(F.relu(self.b1(self.c1(x))))) + self.short(x))


def resnet() -> nn.Module:
    """ResNet-18 for images of 32 x 32."""
    widths = [64, 64, 128, 256, 512]
    layers = [layer for one, two in itertools.pairwise(widths)
              for layer in (Residual(one, two, 1 if one == two else 2), Residual(two, two, 1))]
    return nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), *layers,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def mlp(*widths: int) -> nn.Module:
    layers: list[nn.Module] = []
    for one, two in itertools.pairwise(widths):
        layers += [nn.Linear(one, two), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def classes(m: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(m(x), y)


def tokens(m: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(m(x).flatten(0, 1), y.flatten())


def values(m: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.mse_loss(m(x)[:, 0], y)


def ids(vocabulary: int, *shape: int) -> torch.Tensor:
    return torch.randint(vocabulary, shape)


MODELS: dict[str, tuple[Callable[[], nn.Module], Loss, Callable[[], Tensors]]] = {
    "gpt-65": (lambda: Gpt(65), tokens, lambda: {"x": ids(65, 12, 64), "y": ids(65, 12, 64)}),
    "gpt-50304": (lambda: Gpt(50304), tokens, lambda: {"x": ids(50304, 12, 64), "y": ids(50304, 12, 64)}),
    "mnist": (lambda: mlp(784, 512, 10), classes, lambda: {"x": torch.randn(64, 784), "y": ids(10, 64)}),
    "tabular": (lambda: mlp(32, 256, 256, 1), values, lambda: {"x": torch.randn(1024, 32), "y": torch.randn(1024)}),
    "encoder": (Encoder, classes, lambda: {"x": ids(2000, 16, 64), "y": ids(4, 16)}),
    "lstm": (Lstm, classes, lambda: {"x": torch.randn(32, 32, 32), "y": ids(8, 32)}),
    "resnet": (resnet, classes, lambda: {"x": torch.randn(16, 3, 32, 32), "y": ids(10, 16)}),
}


def stepper_of_torch(model: nn.Module, loss: Loss, compiled: bool) -> Callable[[Tensors], float]:
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    computed = torch.compile(loss) if compiled else loss

    def step(batch: Tensors) -> float:
        optimizer.zero_grad(set_to_none=True)
        value = computed(model, **batch)
        value.backward()
        optimizer.step()
        return value.item()

    return step


def stepper_of_ours(model: nn.Module, loss: Loss, batch: Tensors) -> Callable[[Tensors], float]:
    import splitcast.torch
    trainer = splitcast.torch.compile(model, loss, batch, torch.optim.AdamW(model.parameters(), 1e-3), evaluate=False)
    return trainer.step


def compared(name: str, rounds: int, steps: int) -> bool:
    """Prints the times of a model. Returns whether the losses agree."""
    torch.manual_seed(0)
    make, loss, draw = MODELS[name]
    model = make()
    batches = [draw() for _ in range(4)]
    sides = {"splitcast": stepper_of_ours(copy.deepcopy(model), loss, batches[0]),
             "eager": stepper_of_torch(copy.deepcopy(model), loss, False),
             "torch.compile": stepper_of_torch(copy.deepcopy(model), loss, True)}
    times: dict[str, list[float]] = {side: [] for side in sides}
    losses: dict[str, list[float]] = {side: [] for side in sides}
    for turn in range(rounds + 1):
        for side, step in sides.items():
            time.sleep(0.1)  # until threads of the side before, which wait for more work, sleep
            for number in range(steps):
                begin = time.perf_counter()
                losses[side].append(step(batches[number % len(batches)]))
                if turn > 0:
                    times[side].append((time.perf_counter() - begin) * 1e3)
    ours = times["splitcast"]
    for side, found in times.items():
        median, least = statistics.median(found), min(found)
        print(f"{name:10} {side:14} {median:9.2f} {least:9.2f}   {median / statistics.median(ours):5.2f} "
              f"{least / min(ours):5.2f}   loss {losses[side][-1]:.5f}", flush=True)
    return all(abs(one - other) <= 1e-4 * abs(other)
               for one, other in zip(losses["splitcast"][:5], losses["eager"][:5]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds that are counted (%(default)s)")
    parser.add_argument("--steps", type=int, default=20, help="steps of each side per round (%(default)s)")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}; without any, all")
    arguments = parser.parse_args()
    unknown = [each for each in arguments.models if each not in MODELS]
    if unknown:
        parser.error(f"there is no model {', '.join(unknown)}; there are {', '.join(MODELS)}")
    print(f"{'model':10} {'side':14} {'median ms':>9} {'least ms':>9}   ours is so many times as fast")
    agree = [compared(name, arguments.rounds, arguments.steps) for name in arguments.models or MODELS]
    return 0 if all(agree) else 1


if __name__ == "__main__":
    sys.exit(main())
