"""What a program does with trainers between steps, beside eager PyTorch: it counts, or is an error that says why. Most
of it was found by torch_programs_trainers.py. Run on one and on three ranks by pytest (conftest.py)."""
from __future__ import annotations

import collections
import copy
import re
import tempfile
from collections.abc import Callable

import splitcast as sc
import splitcast.torch
import torch
import torch.nn as nn

from torch_programs import rows_of
from torch_suite import Suite

X = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))


class Small(nn.Module):
    """Two layers of one weight, and a buffer that steps do not change."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.b.weight = self.a.weight
        self.register_buffer("tau", torch.tensor(1.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(torch.tanh(self.a(x))) / self.tau


def square(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return (m(x)**2).mean()


def away(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return ((m(x) - 1)**2).mean()


def made(model: nn.Module, loss: Callable[..., torch.Tensor] = square,
         optimizer: torch.optim.Optimizer | None = None) -> splitcast.torch.Trainer:
    optimizer = optimizer or torch.optim.SGD(model.parameters(), 0.1)
    return splitcast.torch.compile(model, loss, {"x": rows_of(X)}, optimizer, enable_zero=3)


def refused(pattern: str, call: Callable[[], object]) -> str:
    try:
        call()
    except sc.InvalidError as error:
        return "ok" if re.search(pattern, str(error)) else f"raises {error}"
    return "is no error"


def first_wrong(*outcomes: str) -> str:
    return next((each for each in outcomes if each != "ok"), "ok")


def same(what: str, one: float, other: float) -> str:
    return "ok" if abs(one - other) <= 1e-9 else f"{what}: {one}, eager {other}"


def values_of_another_trainer() -> str:
    """Loaded ones count as trained ones do: for steps, files, state dicts, and the next compilation."""
    model, eager = Small(), Small()
    one, other = made(model), made(model, away)
    state = {name: value * 0.5 for name, value in model.state_dict().items()}
    one.load_state_dict(state)
    eager.load_state_dict(state)
    pattern = "has another value in another trainer.*write_back"
    said = [refused(pattern, call) for call in (
        lambda: other.step({"x": rows_of(X)}), lambda: other.evaluate({"x": rows_of(X)}), other.state_dict,
        lambda: other.save("/never.safetensors"))]
    said.append(refused("has another value in a trainer.*0 steps.*write_back", lambda: made(model)))
    model.load_state_dict(one.state_dict())
    said.append(same("after its state dict", other.evaluate({"x": rows_of(X)}), away(eager, X).item()))
    said.append(same("compiled again", made(model).evaluate({"x": rows_of(X)}), square(eager, X).item()))
    one.step({"x": rows_of(X)})
    said.append(refused("in a trainer.*taken 1 step,", lambda: made(model)))
    return first_wrong(*said)


def values_of_a_dropped_trainer() -> str:
    model = Small()

    def train() -> None:
        made(model).step({"x": rows_of(X)})

    train()
    return same("the loss", made(model).evaluate({"x": rows_of(X)}), square(Small(), X).item())


def values_written_back() -> str:
    """What a trainer writes back is a change for another one, which has loaded others, though the model had it."""
    model = Small()
    one, other = made(model), made(model, away)
    other.load_state_dict(Small().state_dict())
    one.load_state_dict({name: value * 0.5 for name, value in Small().state_dict().items()})
    other.write_back()
    return refused("of the model was written to", lambda: one.evaluate({"x": rows_of(X)}))


def runs_of_a_class() -> str:
    """The second is compiled while the first, whose optimizer its loss can reach, has sums in its trainer."""

    class Run:

        def __init__(self) -> None:
            self.model, self.settings = Small(), {"weight": 2.0}
            self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1, momentum=0.9)
            self.trainer = made(self.model, lambda m, x: square(m, x) * self.settings["weight"], self.optimizer)

        def losses(self) -> list[float]:
            return [self.trainer.step({"x": rows_of(X)}) for _ in range(3)]

    first = Run()
    wanted = first.losses()
    return "ok" if Run().losses() == wanted else "the second run has other losses"


def threads_of_pytorch() -> str:
    """PyTorch's own ops have the threads that the program gave them, whatever steps use."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    model, x = nn.Linear(4, 4, dtype=torch.float32), rows_of(X).float()  # products of f64 ask no library
    trainer = splitcast.torch.compile(model, square, {"x": x}, torch.optim.SGD(model.parameters(), 0.1))
    trainer.step({"x": x})
    trainer.evaluate({"x": x})
    found = torch.get_num_threads()
    torch.set_num_threads(before)
    return "ok" if found == 3 else f"PyTorch has {found} threads, not 3"


def newer_values() -> str:
    """What one trainer loads after another's step is another value than the step's, be it the model's own."""
    model = Small()
    one, other = made(model), made(model, away)
    before = model.state_dict()
    one.step({"x": rows_of(X)})
    other.load_state_dict(before)
    return refused("has another value in another trainer", lambda: one.evaluate({"x": rows_of(X)}))


def sums_of_an_optimizer() -> str:
    """They lie in the trainer, so that nothing that reads or sets the optimizer's state does what it does in eager."""
    model = Small()
    optimizer = torch.optim.Adam(model.parameters())
    trainer, state = made(model, square, optimizer), optimizer.state
    state[model.a.weight] = {}  # as long as there are none
    trainer.step({"x": rows_of(X)})
    trainer.write_back()
    calls: list[Callable[[], object]] = [
        lambda: state.__setitem__(model.a.weight, {}), lambda: state[model.a.weight].clear(), lambda: state.clear(),
        lambda: state.update({model.a.weight: {}}), lambda: [each.clear() for each in state.values()],
        lambda: state.get(model.a.weight), lambda: len(state), lambda: list(state), lambda: copy.deepcopy(optimizer),
        lambda: state.setdefault(model.a.weight, {}), lambda: model.a.weight in state,
        lambda: made(model, square, optimizer)]
    said = [refused("the optimizer's state is .*, but momentum", call) for call in calls]
    trainer.step({"x": rows_of(X)})
    optimizer.step = lambda: None  # type: ignore[method-assign,assignment,misc]
    return first_wrong(*said, refused(r"step\(\) was replaced", lambda: trainer.step({"x": rows_of(X)})))


def one_optimizer_of_two_trainers() -> str:
    model = Small()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    one, other = made(model, square, optimizer), made(model, away, optimizer)
    one.step({"x": rows_of(X)})
    one.write_back()
    return refused("that of another trainer's steps", lambda: other.step({"x": rows_of(X)}))


def entries_of_tied_parameters() -> str:
    """Of different values under the names of one parameter, the last counts."""
    model, eager = Small(), Small()
    trainer = made(model)
    state = dict(model.state_dict())
    state["a.weight"], state["b.weight"] = torch.eye(4), 2 * torch.eye(4)
    trainer.load_state_dict(state)
    eager.load_state_dict(state)
    return same("the loss", trainer.evaluate({"x": rows_of(X)}), square(eager, X).item())


def a_value_as_it_was() -> str:
    """A buffer that is put in the place of another is a change, though the model's value was equal before."""
    model = Small()
    trainer = made(model)
    trainer.load_state_dict(dict(model.state_dict(), tau=torch.tensor(3.0)))
    model.tau = torch.tensor(1.5)
    return refused("'tau' of the model was written to", lambda: trainer.step({"x": rows_of(X)}))


def loads_over_changes() -> str:
    """Whole values may be loaded over what was changed in old ones, as the error of such a change says."""
    model, eager = Small(), Small()
    trainer = made(model)
    said = []
    for taken in (lambda: None, lambda: trainer.step({"x": rows_of(X)})):
        taken()
        for change in (lambda m: m.a.weight.data.fill_(7.0), lambda m: m.tau.fill_(3.0),
                       lambda m: setattr(m, "tau", torch.tensor(3.0))):
            state = dict(eager.state_dict(), tau=torch.tensor(3.0))
            change(model)
            trainer.load_state_dict(state)
            eager.load_state_dict(state)
            said.append(same("the loss", trainer.evaluate({"x": rows_of(X)}), square(eager, X).item()))
    model.a.weight.data.fill_(7.0)
    before = trainer._following._value("a.bias")
    said.append(refused("'a.weight' of the model was written to",
                        lambda: trainer.load_state_dict({"a.bias": torch.ones(4)}, strict=False)))
    is_same = torch.equal(trainer._following._value("a.bias"), before)
    said.append("ok" if is_same else "a refused load has changed values")
    return first_wrong(*said)


def hooks_of_evaluations() -> str:
    """Hooks that are added or taken away count for evaluations, too, and without their handles."""
    said = []
    for act in (lambda m: m.register_forward_hook(lambda part, given, result: result * 2),
                lambda m: setattr(m.a, "_forward_hooks", collections.OrderedDict())):
        model = Small()
        model.a.register_forward_hook(lambda part, given, result: result * 2)
        trainer = made(model)
        act(model)
        said += [refused("other forward hooks", lambda: trainer.evaluate({"x": rows_of(X)})),
                 refused("other forward hooks", lambda: trainer.step({"x": rows_of(X)}))]
    return first_wrong(*said)


def order_of_bytes() -> str:
    given = rows_of(X).numpy().astype(">f8")
    return same("the loss", made(Small()).step({"x": given}), square(Small(), X).item())


def parameters_that_begin_later() -> str:
    """Adam corrects the first updates of a parameter, whenever it begins: in a group of its own it counts from 1."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    model[0].requires_grad_(False)
    eager = copy.deepcopy(model)
    theirs = torch.optim.Adam(eager.parameters(), 0.1)

    def trained(*groups: list[nn.Parameter]) -> splitcast.torch.Trainer:
        optimizer = torch.optim.Adam([{"params": each} for each in groups], 0.1)
        return splitcast.torch.compile(model, square, {"x": rows_of(X)}, optimizer, enable_zero=3)

    def step(trainer: splitcast.torch.Trainer) -> float:
        theirs.zero_grad()
        loss = square(eager, X)
        loss.backward()
        theirs.step()
        return abs(trainer.step({"x": rows_of(X)}) - loss.item())

    first = trained(list(model.parameters()))
    wrong = max(step(first) for _ in range(3))
    path = sc.exchange(tempfile.mkdtemp() if sc.rank() == 0 else "", "a directory")[0] + "/later.safetensors"
    model[0].requires_grad_(True)
    eager[0].requires_grad_(True)
    asked = refused("is trained, but it was frozen.*load.file, strict=False", lambda: first.step({"x": rows_of(X)}))
    first.write_back()
    first.save(path)
    together = trained(list(model.parameters()))
    said = refused("group of their own in the optimizer", lambda: together.load(path, strict=False))
    apart = trained(list(model[2].parameters()), list(model[0].parameters()))
    apart.load(path, strict=False)
    wrong = max([wrong, *(step(apart) for _ in range(3))])
    return first_wrong(asked, said, "ok" if wrong < 1e-5 else f"a loss is {wrong} apart")


SUITE = Suite({
    "parameters that begin later": parameters_that_begin_later,
    "values of another trainer": values_of_another_trainer, "newer values": newer_values,
    "values of a dropped trainer": values_of_a_dropped_trainer, "runs of a class": runs_of_a_class,
    "threads of PyTorch": threads_of_pytorch,
    "values written back": values_written_back,
    "sums of an optimizer": sums_of_an_optimizer, "one optimizer of two trainers": one_optimizer_of_two_trainers,
    "entries of tied parameters": entries_of_tied_parameters, "a value as it was": a_value_as_it_was,
    "loads over changes": loads_over_changes, "hooks of evaluations": hooks_of_evaluations,
    "the order of bytes": order_of_bytes}, ranks=(1, 3))

if __name__ == "__main__":
    SUITE.run()
