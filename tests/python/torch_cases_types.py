"""What types, bounds and autocast make of values and gradients, and constants that change: beside eager PyTorch."""
from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

import splitcast as sc
import splitcast.torch
import torch
import torch.nn as nn
import torch.nn.functional as F

from torch_suite import Suite

Of = Callable[..., dict[str, torch.Tensor]]


class Weights(nn.Module):
    """Parameters by name, for functions that take them."""

    def __init__(self, **values: torch.Tensor) -> None:
        super().__init__()
        for name, value in values.items():
            setattr(self, name, nn.Parameter(value))


def trainer_of(model: nn.Module, loss: Callable[..., object], batch: Mapping[str, torch.Tensor],
               rate: float) -> splitcast.torch.Trainer:
    return splitcast.torch.compile(model, loss, dict(batch), torch.optim.SGD(model.parameters(), rate))


def same_outputs(model: nn.Module, of: Of, **batch: torch.Tensor) -> str:
    """Whether what `of` returns beside its loss has eager PyTorch's types and bits."""
    trainer = trainer_of(model, of, batch, 1e-9)
    found = trainer.evaluate(dict(batch), outputs=True)[1]
    wrong = [f"{name}: {found[name]}, eager {value}" for name, value in of(model, **batch).items()
             if name != "loss" and (found[name].dtype != value.dtype or not torch.equal(found[name], value.detach()))]
    return "; ".join(wrong) or "ok"


def same_gradients(model: nn.Module, of: Callable[..., torch.Tensor], **batch: torch.Tensor) -> str:
    """Whether a step with a rate of 1 takes eager PyTorch's gradients off."""
    eager = copy.deepcopy(model)
    of(eager, **batch).backward()
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    trainer = trainer_of(model, of, batch, 1.0)
    trainer.step(dict(batch))
    after = trainer.state_dict()
    wrong = [f"{name}: {before[name] - after[name]}, eager {each.grad}" for name, each in eager.named_parameters()
             if each.grad is not None and not torch.allclose(before[name] - after[name], each.grad, atol=1e-6)]
    return "; ".join(wrong) or "ok"


def products_within_autocast() -> str:
    """Functions that are made of products, which autocast computes in bf16; those that are elementwise stay in f32."""

    def of(m: Weights, x: torch.Tensor) -> dict[str, torch.Tensor]:
        with torch.autocast("cpu", torch.bfloat16):
            a = x @ m.w
            found = {
                "einsum": torch.einsum("ij,kj->ik", x, m.w), "implicit": torch.einsum("ij,jk", x, m.w),
                "of batches": torch.einsum("bij,bjk->bik", x[None], m.w[None]), "bf16": torch.einsum("ij,kj->ik", a, a),
                "elementwise": torch.einsum("ij,ij->ij", x, m.w), "inner": torch.inner(x, m.w), "named": torch.inner(input=x, other=m.w),
                "tensordot": torch.tensordot(x, m.w, 1), "multi_dot": torch.linalg.multi_dot([x, m.w, m.w]),
                "matrix_power": torch.matrix_power(m.w, 3)}
        return {"loss": a.float().mean(), **found}

    torch.manual_seed(0)
    said = same_outputs(Weights(w=torch.randn(4, 4)), of, x=torch.randn(4, 4))
    if said != "ok":
        return said
    try:
        trainer_of(Weights(w=torch.randn(4, 4)), lambda m, x: of_three(m, x), {"x": torch.randn(4, 4)}, 1.0)
    except sc.InvalidError as error:
        return "ok" if "einsum of more than two tensors" in str(error) else str(error)
    return "an einsum of three tensors compiles"


def of_three(m: Weights, x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return torch.einsum("ij,jk,kl->il", x, m.w, m.w).float().mean()


def small_floats_by_a_number() -> str:
    """A tensor without dimensions is not rounded to the 16 bits of the other operand, in which it might be infinite."""

    def of(m: Weights, x: torch.Tensor) -> dict[str, torch.Tensor]:
        h, b = (m.w * x).half(), (m.w * x).bfloat16()
        wide = torch.cat([h[:1], torch.full_like(h[:1], 5000)])  # whose variance 16 bits cannot hold
        return {"loss": m.w.sum(), "std": wide.std(), "std_mean": torch.std_mean(wide)[0], "mul": h * m.s, "div": h * 1000 / m.s, "sub": m.s - h, "add": torch.add(h, m.t, alpha=3),
                "bf16": b * m.t, "constant": h * torch.tensor(1e5)}

    return same_outputs(Weights(w=torch.tensor([0.001, 0.002]), s=torch.tensor(1e5), t=torch.tensor(1.0039)), of,
                        x=torch.ones(2))


def bounds() -> str:
    """Gradients of clamp between tensors: where bounds are met, are equal, or the wrong way around."""
    places = torch.tensor([[1, 1, 1], [1, 1, 2], [2, 1, 2], [1, 2, 2], [3, 2, 2], [1, 2, 1], [2, 2, 1], [1.5, 2, 1],
                           [3, 2, 1], [0, 2, 1], [1.5, 1, 2], [-0.0, 0.0, 0.0]])
    return same_gradients(Weights(**{name: places[:, number].clone() for number, name in enumerate(("x", "low", "high"))}),
                          lambda m, x: (torch.clamp(m.x, m.low, m.high) * x).sum(), x=torch.arange(12.0) + 1)


def logarithms() -> str:
    """xlogy has a gradient at 0, unless there is no logarithm."""
    for of in (torch.xlogy, torch.special.xlog1py):
        said = same_gradients(Weights(x=torch.tensor([0.0, 0.0, 1.0, 0.0, 2.0]), y=torch.tensor([2.0, 5.0, 2.0, 1e-30, 0.5])),
                              lambda m, x, of=of: (of(m.x, m.y) * x).sum(), x=torch.ones(5))
        if said != "ok":
            return f"{of.__name__}: {said}"
    return same_gradients(Weights(x=torch.tensor([0.0, 1.0, 0.0])),
                          lambda m, x: (torch.xlogy(m.x, torch.tensor([0.0, 2.0, -1.0])) * x).sum(), x=torch.ones(3))


def sums_of_int32() -> str:
    """A sum that 32 bits cannot hold wraps around."""

    def of(m: Weights, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": m.w.sum(), "sum": x.sum(dtype=torch.int32), "rows": x.view(2, 2).sum(1, dtype=torch.int32),
                "so far": x.cumsum(0, dtype=torch.int32), "wide": x.sum()}

    return same_outputs(Weights(w=torch.ones(1)), of,
                        x=torch.tensor([2**31 - 1, -2**31, 2**31 - 5, 100000], dtype=torch.int32))


def parts_of_several_types() -> str:
    """cat() and stack() cast all parts to the type of the result."""

    def of(m: Weights, x: torch.Tensor, counts: torch.Tensor, flags: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": (m.w * x).sum(), "cat": torch.cat([m.w * x, counts]), "small": torch.cat([m.w.half(), x.bfloat16()]),
                "stack": torch.stack([x, counts]), "flags": torch.cat([flags, x > 0]), "numbers": torch.cat([flags, counts]),
                "nothing": torch.cat([counts, torch.empty(0)]), "wide": torch.cat([x, x.double()])}

    return same_outputs(Weights(w=torch.ones(3)), of, x=torch.tensor([0.5, -1.0, 2.0]), counts=torch.arange(3),
                        flags=torch.tensor([True, False, True]))


class Masked(nn.Module):
    """A transformer of which PyTorch would look at the mask, to find out whether it is causal."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        layers = {"dropout": 0.0, "batch_first": True}
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, **layers), 1)  # type: ignore[arg-type]
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, **layers), 1)  # type: ignore[arg-type]
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(5))
        self.kind = kind

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        y: torch.Tensor = {"made": lambda: self.encoder(x, mask=made), "decoder": lambda: self.decoder(x, x, tgt_mask=made),
                           "booleans": lambda: self.encoder(x, mask=torch.ones(5, 5).triu(2).bool()),
                           "buffer": lambda: self.decoder(x, x, tgt_mask=self.mask)}[self.kind]()
        return y


def masks_of_transformers() -> str:
    for kind in ("made", "decoder", "booleans", "buffer"):
        torch.manual_seed(0)
        said = same_gradients(Masked(kind), lambda m, x: m(x).pow(3).mean(), x=torch.randn(3, 5, 8))
        if said != "ok":
            return f"{kind}: {said}"
    return "ok"


def strides_of_0() -> str:
    """A tensor of one element that was expanded, as a parameter and as a constant."""
    one = torch.tensor([0.5])
    model = Weights(w=torch.tensor([1.0, -2.0]), s=torch.tensor(0.5).expand(1))
    return same_gradients(model, lambda m, x: (m.s * one.sum().expand(1) * m.w * x).sum(), x=torch.ones(2))


def windows_in_place() -> str:
    def changed(m: Weights, x: torch.Tensor) -> torch.Tensor:
        y = x * m.w
        y.unfold(1, 2, 2)[:, :, 0].add_(5)
        return y.square().mean()

    try:
        trainer_of(Weights(w=torch.ones(5)), changed, {"x": torch.ones(4, 5)}, 1.0)
    except sc.InvalidError as error:
        return "ok" if "windows in place" in str(error) and "torch_cases_types.py" in str(error) else str(error)
    return "compiles"


def a_teacher_with_batch_norms() -> str:
    """Its statistics and weights, which are alike at first, follow the model; what it does not compute with may change."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.ReLU(), nn.Linear(7, 7), nn.BatchNorm1d(7), nn.Linear(7, 3))
    pairs = [(each, copy.deepcopy(each).eval()) for each in (model, copy.deepcopy(model))]

    def loss_with(teacher: nn.Module) -> Callable[..., torch.Tensor]:

        def loss(m: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                wanted = teacher(x)
            return F.cross_entropy(m(x), y) + F.mse_loss(m(x), wanted)

        return loss

    (ours, teacher), (eager, theirs) = pairs
    batches = [{"x": torch.randn(6, 5), "y": torch.randint(0, 3, (6,))} for _ in range(5)]
    trainer, loss = trainer_of(ours, loss_with(teacher), batches[0], 0.1), loss_with(theirs)
    optimizer = torch.optim.SGD(eager.parameters(), 0.1)
    for number, batch in enumerate(batches):
        optimizer.zero_grad()
        value = loss(eager, **batch)
        value.backward()
        optimizer.step()
        found = trainer.step(batch)
        if abs(found - value.item()) > 1e-5 * abs(found):
            return f"step {number}: {found}, eager {value.item()}"
        trainer.write_back()
        for student, follower in pairs:
            if number % 2:
                follower.load_state_dict(student.state_dict())
            else:
                with torch.no_grad():
                    for mean, now in zip(follower.parameters(), student.parameters()):
                        mean.lerp_(now, 0.3)
    return "ok"


SUITE = Suite({"products within autocast": products_within_autocast, "small floats by a number": small_floats_by_a_number,
               "bounds": bounds, "logarithms": logarithms, "sums of int32": sums_of_int32,
               "parts of several types": parts_of_several_types,
               "masks of transformers": masks_of_transformers, "strides of 0": strides_of_0,
               "windows in place": windows_in_place, "a teacher with batch norms": a_teacher_with_batch_norms}, ranks=(1,))

if __name__ == "__main__":
    SUITE.run()
