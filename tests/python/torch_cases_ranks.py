"""What ranks share in a model of PyTorch: rows, micro-batches, numbers, parameters. Run as three ranks by
torch_check.py; prints 'CASE name: ok' or what is wrong of each."""
import re
import sys
import warnings

import torch
import torch.nn as nn

import splitcast as sc
import splitcast.torch

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
            return "step %d: %r, eager %r" % (step, ours, theirs.item())
        optimizer.zero_grad()
        theirs.backward()
        optimizer.step()
    for name, value in eager.state_dict().items():
        if not torch.allclose(trainer.state_dict()[name], value, rtol=1e-4, atol=1e-6):
            return "%s differs" % name
    least, more = divmod(sum(shares), RANKS)
    of_evaluation = [least + (rank < more) for rank in range(RANKS)]
    ours = trainer.evaluate({"x": own_rows(of_evaluation)})
    theirs = loss(eager.eval(), X[:sum(shares)]).item()
    return "ok" if abs(ours - theirs) < 1e-5 else "evaluated: %r, eager %r" % (ours, theirs)


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
                return "%r, eager %r" % (ours, theirs.item())
            optimizer.zero_grad()
            theirs.backward()
            optimizer.step()
        ours, theirs = trainer.evaluate(dict(example, t=3.0, n=1)), by_temperature(eager, X, 3.0, 1).item()
        if abs(ours - theirs) > 1e-5:
            return "evaluated: %r, eager %r" % (ours, theirs)
    return "ok"


def on_two_axes():
    """Only the first axis splits rows."""
    model, x = made(), X[:4]
    trainer = compiled(model, square, {"x": x}, mesh={"dp": 1, "tp": 3})
    ours, theirs = trainer.step({"x": x}), square(model, x).item()
    return "ok" if abs(ours - theirs) < 1e-6 else "%r, eager %r" % (ours, theirs)


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
            return "loss %r" % loss
        expected = with_outputs(model.eval(), X[:8])
        expected.pop("none")
        rows = slice(3 * RANK, min(3 * RANK + 3, 8))
        expected = {name: value[rows] if value.dim() else value for name, value in expected.items()}
        if abs(loss - expected.pop("loss").item()) > 1e-6 or list(found) != list(expected):
            return "%r with %s" % (loss, list(found))
        for name, value in expected.items():
            if value.dtype != found[name].dtype or not torch.allclose(value.float(), found[name].float(), rtol=1e-2):
                return "%s is %s, not %s" % (name, found[name], value)
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
        return "ok" if re.search(pattern, str(error)) else "raises %s" % error
    return "is no error"


def too_few_rows():
    """That an evaluation does not have the rows of a step is an error on the ranks that need others."""
    trainer = compiled(made(), square, {"x": own_rows([4, 2, 2])}, accumulate=2)
    calls = [("1 rows of input 'x'.*step needs [42],.*-100.*drop_last", lambda: trainer.step({"x": X[:1]}))]
    if RANK < 2:
        calls.append(("evaluate needs 3: ranks share all rows", lambda: trainer.evaluate({"x": own_rows([4, 2, 2])})))
    return next((each for each in [refused(*call) for call in calls] if each != "ok"), "ok")


def other_parameters():
    torch.manual_seed(RANK)
    return refused("(?s)parameters of the model.*torch.manual_seed.*same state dict",
                   lambda: compiled(nn.Linear(4, 4), square, {"x": X[:2]}))


def other_numbers():
    trainer = compiled(made(), by_temperature, {"x": X[:2], "t": torch.tensor(1.0), "n": torch.tensor(1)})
    return refused("different values for input 't'", lambda: trainer.step({"x": X[:2], "t": 1.0 + RANK, "n": 1}))


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
    "parameters that differ": other_parameters,
}


def main():
    warnings.filterwarnings("ignore")
    for name in sys.argv[1:] or CASES:
        outcomes = sc.exchange(CASES[name]().replace("\n", " "), "outcomes of '%s'" % name)
        if RANK == 0:
            print("CASE %s: %s" % (name, next((each for each in outcomes if each != "ok"), "ok")), flush=True)
    if RANK == 0:
        print("ALL %d" % len(CASES))


main()
