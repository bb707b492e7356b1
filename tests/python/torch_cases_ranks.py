"""What ranks share in a model of PyTorch: rows, micro-batches, numbers, parameters. Run as three ranks by
pytest (conftest.py)."""
import re

import splitcast as sc
import splitcast.torch
import torch
import torch.nn as nn

from torch_suite import Suite

RANKS, RANK = 3, sc.rank()
X = torch.randn(12, 4, generator=torch.Generator().manual_seed(1))
W = torch.linspace(0, 1, 12)


def made(layers=list):
    """A linear layer, and those that a function makes; the same on all ranks."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), *layers())


def compiled(model, loss, example, **options):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return splitcast.torch.compile(model, loss, example, optimizer, enable_zero=2, **options)


def square(model, x):
    return (model(x)**2).mean()


def tanh_of_rows(model, x):
    return (torch.tanh(model(x) - 0.3)**2).mean()


def by_weights_of_rows(model, x):
    return (model(x)**2 * W[:, None]).mean()


def pairs(model, x):
    first, second = model(x).view(6, 2, 4).unbind(1)
    return (first - second).pow(2).mean()


def by_temperature(model, x, t, n):
    return ((model(x) / t)**2).mean() * n


def own_rows(shares):
    """The rows of X that this rank has if ranks have so many."""
    return X[sum(shares[:RANK]):sum(shares[:RANK + 1])]


def in_micro_batches(shares, count):
    """X's rows of all ranks, one micro-batch after the other, of which each has a part of each rank's rows."""
    parts = [part.chunk(count) for part in X[:sum(shares)].split(shares)]
    return torch.cat([part[micro] for micro in range(count) for part in parts])


def as_eager(loss, layers, shares, accumulate):
    """Whether three steps and the evaluation are those of eager PyTorch on the batch in its order."""
    model, eager = made(layers), made(layers)
    trainer = compiled(model, loss, {"x": own_rows(shares)}, accumulate=accumulate)
    optimizer, batch = torch.optim.SGD(eager.parameters(), lr=0.1), in_micro_batches(shares, accumulate)
    for step in range(3):
        ours, theirs = trainer.step({"x": own_rows(shares)}), loss(eager, batch)
        if abs(ours - theirs.item()) > 1e-5:
            return f"step {step}: {ours!r}, eager {theirs.item()!r}"
        optimizer.zero_grad()
        theirs.backward()
        optimizer.step()
    for name, value in eager.state_dict().items():
        if not torch.allclose(trainer.state_dict()[name], value, rtol=1e-4, atol=1e-6):
            return f"{name} differs"
    least, more = divmod(sum(shares), RANKS)
    of_evaluation = [least + (rank < more) for rank in range(RANKS)]
    ours = trainer.evaluate({"x": own_rows(of_evaluation)})
    theirs = loss(eager.eval(), X[:sum(shares)]).item()
    return "ok" if abs(ours - theirs) < 1e-5 else f"evaluated: {ours!r}, eager {theirs!r}"


def numbers_of_all_ranks():
    """Inputs without dimensions, as tensors and as numbers."""
    example = {"x": own_rows([4, 4, 4]), "t": torch.tensor(1.0), "n": torch.tensor(2)}
    for accumulate in (1, 2):
        model, eager = made(), made()
        trainer = compiled(model, by_temperature, example, accumulate=accumulate)
        optimizer = torch.optim.SGD(eager.parameters(), lr=0.1)
        for t, n in ((1.0, 2), (torch.tensor(0.5), torch.tensor(3)), (2, 1)):
            ours, theirs = trainer.step(dict(example, t=t, n=n)), by_temperature(eager, X, t, n)
            if abs(ours - theirs.item()) > 1e-5:
                return f"{ours!r}, eager {theirs.item()!r}"
            optimizer.zero_grad()
            theirs.backward()
            optimizer.step()
        ours, theirs = trainer.evaluate(dict(example, t=3.0, n=1)), by_temperature(eager, X, 3.0, 1).item()
        if abs(ours - theirs) > 1e-5:
            return f"evaluated: {ours!r}, eager {theirs!r}"
    return "ok"


def on_two_axes():
    """Only the first axis splits rows."""
    model, x = made(), X[:4]
    trainer = compiled(model, square, {"x": x}, mesh={"dp": 1, "tp": 3})
    ours, theirs = trainer.step({"x": x}), square(model, x).item()
    return "ok" if abs(ours - theirs) < 1e-6 else f"{ours!r}, eager {theirs!r}"


def with_outputs(model, x):
    y = model(x)
    return {"y": y, "loss": (y**2).mean(), "largest": y.argmax(1), "above": y > 0, "half": y.bfloat16(),
            "n": y.abs().max(), "none": None}


def outputs_of_evaluation():
    """Of tensors with the batch's rows, a rank's own; other ones whole. They stay when the next batch is evaluated."""
    for shares, options in (([3, 3, 2], {}), ([8, 0, 0], {"whole_batch": True})):
        model = made(lambda: [nn.Dropout(0.5)])
        x = X[:8] if options else own_rows(shares)
        trainer = compiled(model, with_outputs, {"x": x}, **options)
        loss, found = trainer.evaluate({"x": x}, outputs=True)
        if trainer.evaluate({"x": x * 2}) == loss or trainer.evaluate({"x": x}) != loss:
            return f"loss {loss!r}"
        expected = with_outputs(model.eval(), X[:8])
        expected.pop("none")
        rows = slice(3 * RANK, min(3 * RANK + 3, 8))
        expected = {name: value[rows] if value.dim() else value for name, value in expected.items()}
        if abs(loss - expected.pop("loss").item()) > 1e-6 or list(found) != list(expected):
            return f"{loss!r} with {list(found)}"
        for name, value in expected.items():
            if value.dtype != found[name].dtype or not torch.allclose(value.float(), found[name].float(), rtol=1e-2):
                return f"{name} is {found[name]}, not {value}"
    return "ok"


class Recurrent(nn.Module):

    def __init__(self):
        super().__init__()
        self.l = nn.LSTM(1, 3, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.l(x[:, :, None])[0].sum(1)


def refused(pattern, call):
    """Whether the call is an error with this pattern on all ranks."""
    try:
        call()
    except sc.Error as error:
        return "ok" if re.search(pattern, str(error)) else f"raises {error}"
    return "is no error"


def too_few_rows():
    """That an evaluation does not have the rows of a step is an error on the ranks that need others."""
    trainer = compiled(made(), square, {"x": own_rows([4, 2, 2])}, accumulate=2)
    calls = [("1 rows of input 'x'.*step needs [42],.*other_inputs.*drop_last", lambda: trainer.step({"x": X[:1]}))]
    if RANK < 2:
        calls.append(("evaluate needs 3: ranks share all rows", lambda: trainer.evaluate({"x": own_rows([4, 2, 2])})))
    return next((each for each in [refused(*call) for call in calls] if each != "ok"), "ok")


def other_parameters():
    torch.manual_seed(RANK)
    return refused("(?s)parameters of the model.*torch.manual_seed.*same state dict",
                   lambda: compiled(nn.Linear(4, 4), square, {"x": X[:2]}))


def other_numbers():
    """Numbers that differ in the first step; in a later one, that is an error that ends the job."""
    trainer = compiled(made(), by_temperature, {"x": X[:2], "t": torch.tensor(1.0), "n": torch.tensor(1)})
    return refused("different values for input 't'", lambda: trainer.step({"x": X[:2], "t": 1.0 + RANK, "n": 1}))


class OfSteps(nn.Module):
    """A layer of [steps, samples, width], and a linear one."""

    def __init__(self, layer):
        super().__init__()
        torch.manual_seed(0)
        self.r, self.l = layer(), nn.Linear(4, 2)

    def forward(self, x):
        h = self.r(x)
        return self.l(h[0] if isinstance(h, tuple) else h)


def of_steps(model, x):
    return ((model(x) - 1)**2).mean()


def scaled(model, x):
    return torch.tanh(x * model.r.bias).square().mean()


STEPS_FIRST = {
    "GRU": lambda: nn.GRU(4, 4),
    "LSTM": lambda: nn.LSTM(4, 4),
    "transformer": lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0),
}


def samples_second():
    """[steps, samples, width]: exact with batch_dims=, and refused without, but for samples that are said to be first."""
    x = torch.randn(5, 6, 4, generator=torch.Generator().manual_seed(2))
    own = x[:, 2 * RANK:2 * RANK + 2]
    for name, layer in STEPS_FIRST.items():
        said = refused("batch_dims={'x': 1}", lambda: compiled(OfSteps(layer), of_steps, {"x": own}))
        if said != "ok":
            return f"{name}: {said}"
    for layer, loss, accumulate in ((STEPS_FIRST["GRU"], of_steps, 1), (lambda: nn.Linear(4, 4), scaled, 2)):
        model, eager = OfSteps(layer), OfSteps(layer)
        trainer = compiled(model, loss, {"x": own}, batch_dims={"x": 1}, accumulate=accumulate)
        optimizer = torch.optim.SGD(eager.parameters(), lr=0.1)
        for _ in range(2):
            ours, theirs = trainer.step({"x": own}), loss(eager, x)
            if abs(ours - theirs.item()) > 1e-5:
                return f"{ours!r}, eager {theirs.item()!r}"
            optimizer.zero_grad()
            theirs.backward()
            optimizer.step()
        if abs(trainer.evaluate({"x": own}) - loss(eager, x).item()) > 1e-5:
            return "another evaluation"
    return refused("in one micro-batch", lambda: compiled(  # its layers take the steps and the samples together
        OfSteps(STEPS_FIRST["GRU"]), of_steps, {"x": own}, batch_dims={"x": 1}, accumulate=2))


def without_rows():
    """Tensors that all ranks share: exact if that is said, and refused where it cannot be known."""
    def weighted(model, x, w):
        return (model(x)**2).mean() * w.sum()

    for own, pattern in ((X[4 * RANK:4 * RANK + 4], r"\[1, 1, 1\] rows of example input 'w' and \[4, 4, 4\] of 'x'"),
                         (X[RANK:RANK + 1], "rows of 'w' .* meet no rows of other inputs")):
        batch = {"x": own, "w": torch.tensor([0.25])}
        said = refused(pattern + ".*batch_dims={'w': None}", lambda: compiled(made(), weighted, batch))
        if said != "ok":
            return said
        whole = X[:3 * len(own)]
        trainer, eager = compiled(made(), weighted, batch, batch_dims={"w": None}), made()
        for w in (0.25, 3.0):
            ours = trainer.evaluate(dict(batch, w=torch.tensor([w])))
            if abs(ours - weighted(eager, whole, torch.tensor([w])).item()) > 1e-5:
                return f"{ours!r} with a weight of {w!r}"
        said = refused("different values for input 'w'", lambda: trainer.step(dict(batch, w=torch.tensor([1.0 + RANK]))))
        if said != "ok":
            return said
    return "ok"


def of_classes(model, x, y):
    """Rows of one class should be near each other: labels meet the others' rows only as pairs."""
    h = nn.functional.normalize(model(x), dim=1)
    return (h @ h.t() * (y[:, None] == y[None])).mean()


def labels_in_pairs():
    labels = torch.arange(12) % 3
    own = {"x": own_rows([4, 4, 4]), "y": labels[4 * RANK:4 * RANK + 4]}
    ours, theirs = compiled(made(), of_classes, own).step(own), of_classes(made(), X, labels).item()
    return "ok" if abs(ours - theirs) < 1e-5 else f"{ours!r}, eager {theirs!r}"


def short_last_batch():
    """With a batch norm, which no row may see that fills it up, and a second term of the loss."""
    def of(model, x):
        return tanh_of_rows(model, x) + 0.1 * (model[0](x)**2).mean()

    layers, of_rank = lambda: [nn.BatchNorm1d(4)], {11: [4, 4, 3], 12: [4, 4, 4], 2: [1, 1, 0]}
    model, eager = made(layers), made(layers)
    batches = {count: {"x": own_rows(shares)} for count, shares in of_rank.items()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    trainer = splitcast.torch.compile(model, of, batches[12], optimizer, other_inputs=[batches[11], batches[2]],
                                      enable_zero=3)
    optimizer = torch.optim.AdamW(eager.parameters(), lr=0.05)
    for count in (12, 11, 2, 12):
        ours, theirs = trainer.step(batches[count]), of(eager, X[:count])
        if abs(ours - theirs.item()) > 1e-5:
            return f"{count} rows: {ours!r}, eager {theirs.item()!r}"
        optimizer.zero_grad()
        theirs.backward()
        optimizer.step()
    for name, value in eager.state_dict().items():
        if not torch.allclose(trainer.state_dict()[name], value, rtol=1e-4, atol=1e-6):
            return f"{name} differs"
    eager.eval()
    for count in (11, 12):
        if abs(trainer.evaluate(batches[count]) - of(eager, X[:count]).item()) > 1e-5:
            return f"another evaluation of {count} rows"
    return refused("all ranks must have batches of one", lambda: trainer.step(batches[12 if RANK else 2]))


def dropped(model, x):
    return (torch.dropout(model(x), 0.5, True)**2).mean()  # in evaluations, too


def draws():
    """Losses are those of the seed, at any stage; evaluations change nothing of them, and are each another."""
    model = made()

    def losses(stage=2, evaluations=0, **options):
        trainer = splitcast.torch.compile(model, dropped, {"x": own_rows([4, 4, 4])}, sc.Sgd(lr=0.0),
                                          enable_zero=stage, **options)
        found, others = [], []
        for _ in range(2):
            others += [trainer.evaluate({"x": own_rows([4, 4, 4])}) for _ in range(evaluations)]
            found.append(trainer.step({"x": own_rows([4, 4, 4])}))
        return "evaluations are alike" if len(set(others)) < len(others) else found

    torch.manual_seed(1)
    first, second = losses(), losses()
    torch.manual_seed(1 + RANK)
    again, third = losses(0, 2), losses(seed=7)
    if first != again or third != losses(3, 1, seed=7):
        return f"the same seed draws {first!r} and {again!r}"
    return "ok" if first != second and second != third and len(set(first)) == 2 else f"unlike seeds draw alike: {first!r}"


CASES = {
    "rows of ranks": lambda: as_eager(square, list, [4, 4, 4], 1),
    "pairs of rows in micro-batches": lambda: as_eager(pairs, list, [4, 4, 4], 2),
    "weights of rows": lambda: as_eager(by_weights_of_rows, list, [4, 4, 4], 1),
    "weights of rows in micro-batches": lambda: refused(
        "in one micro-batch", lambda: compiled(made(), by_weights_of_rows, {"x": X[:4]}, accumulate=2)),
    "a batch norm in micro-batches": lambda: as_eager(tanh_of_rows, lambda: [nn.BatchNorm1d(4)], [4, 4, 4], 2),
    "an LSTM in micro-batches": lambda: as_eager(tanh_of_rows, lambda: [Recurrent()], [4, 4, 4], 2),
    "micro-batches that ranks do not divide": lambda: as_eager(square, lambda: [nn.Tanh()], [4, 2, 2], 2),
    "rows that are not those of micro-batches": lambda: refused(
        r"\[3, 3, 2\] rows.*share 4 rows of each of the 2 micro-batches evenly they must have \[4, 2, 2\]",
        lambda: compiled(made(), square, {"x": own_rows([3, 3, 2])}, accumulate=2)),
    "rows that micro-batches do not divide": lambda: refused(
        "9 in all; accumulate=2 does not divide",
        lambda: compiled(made(), square, {"x": own_rows([3, 3, 3])}, accumulate=2)),
    "rows of another batch": too_few_rows,
    "ranks with the same rows": on_two_axes,
    "outputs of an evaluation": outputs_of_evaluation,
    "outputs without a loss": lambda: refused("dict with 'l'; it must have 'loss'", lambda: compiled(
        made(), lambda model, x: {"l": square(model, x)}, {"x": X[:4]})),
    "numbers of all ranks": numbers_of_all_ranks,
    "numbers that differ": other_numbers,
    "samples along the second dimension": samples_second,
    "tensors without rows": without_rows,
    "labels in pairs": labels_in_pairs,
    "a short last batch": short_last_batch,
    "random numbers of ranks": draws,
    "parameters that differ": other_parameters,
}


SUITE = Suite(CASES, ranks=(3,))

if __name__ == "__main__":
    SUITE.run()
