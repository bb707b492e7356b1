"""What a model holds while its loss is computed, and what an optimizer holds between steps. The graph has it as
constants, so that later changes would have no effect: here they are found, and are errors. (What tracing reads beside
that is in _facts.py.)"""
from __future__ import annotations

import collections
import operator
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import splitcast as sc
import torch
import torch.nn.modules.module as _hooks_of_modules
import torch.utils._pytree as pytree
from numpy.typing import NDArray
from splitcast.torch._again import AGAIN
from splitcast.torch._contents import OWN, Guarded, differs, named
from splitcast.torch._places import place_of
from splitcast.torch._purity import Kept
from splitcast.torch._watches import Watches
from torch.utils.hooks import RemovableHandle

REBUILT = ("_flat_weights", "_flat_weight_refs")  # lists of parameters that LSTM, GRU and RNN make again in forward
NUMBERS = (bool, int, float)
Holder = dict[str, Any] | list[Any]  # of values of a model
Hooked = Mapping[int, Callable[..., Any]]  # hooks of a module, by their handles
Rates = dict[int, str | None]  # by the number of a parameter group, the variable of its learning rate


def holders_of(module: torch.nn.Module) -> Iterator[tuple[str, Holder]]:
    """(name, holder) of each dict or list with values of the model: the attributes of its parts, and one level deeper
    the dicts, lists, and attributes of plain objects that are attributes of a part."""
    for name, part in module.named_modules():
        yield name, vars(part)
        for key, value in vars(part).items():
            inner = value if isinstance(value, (dict, list)) else getattr(value, "__dict__", None)
            is_other = isinstance(value, (torch.nn.Module, torch.Tensor, type, types.ModuleType, types.FunctionType))
            is_other = is_other or (isinstance(part, torch.nn.RNNBase) and key in REBUILT)
            if key not in OWN and isinstance(inner, (dict, list)) and not is_other:
                yield named(name, key), inner


def entries_of(holder: Holder) -> list[tuple[Any, Any]]:
    return list(enumerate(holder)) if isinstance(holder, list) else [
        (key, value) for key, value in holder.items() if key not in OWN]


def holds_tensor(value: object) -> bool:
    return any(isinstance(each, torch.Tensor) for each in pytree.tree_leaves(value))


class Held:
    """What a model holds before its loss is computed, to see what that changes.

    Numbers must stay. Tensors that the model saves for later, such as maps of attention, belong to the graph's making:
    restore() takes them away again.
    """

    def __init__(self, module: torch.nn.Module, was_read: Callable[[torch.Tensor], bool]) -> None:
        self._module = module
        self._before: dict[str, tuple[Any, int]] = {}
        self._contents: dict[str, tuple[Holder, Holder]] = {}
        self._kept = Kept(module, saves=True, was_read=was_read)
        for name, part in module.named_modules():
            self._kept.note(name, part, "", REBUILT if isinstance(part, torch.nn.RNNBase) else ())
        for name, holder in holders_of(module):
            self._contents[name] = (holder, holder.copy())
            self._before.update((named(name, key), (value, _version_of(value))) for key, value in entries_of(holder))

    def settings(self) -> list[tuple[str, Holder | None, Any, str]]:
        """(name, holder, key, text) of each text that was None before, as of the last saved(); the holder is None if
        restore() leaves the text there."""
        found: list[tuple[str, Holder | None, Any, str]] = [
            (named(name, key), holder, key, value) for name, holder in holders_of(self._module)
            for key, value in entries_of(holder)
            if isinstance(value, str) and self._before.get(named(name, key), ("", 0))[0] is None]
        return found + [(text, None, None, text) for text in self._kept.set_texts[len(found):]]

    def saved(self) -> list[tuple[str, Holder, Any]]:
        """(name, holder, key) of each value with tensors that is new. Raises InvalidError if a number has changed."""
        before, saved = dict(self._before), []
        for name, holder in list(holders_of(self._module)):
            for key, value in entries_of(holder):
                old, version = before.pop(named(name, key), (None, 0))
                if value is not old and isinstance(value, (torch.Tensor, tuple)) and holds_tensor(value):
                    saved.append((named(name, key), holder, key))
                elif (isinstance(old, NUMBERS) and differs(value, old)) or (
                        _version_of(value) != version if value is old else isinstance(old, torch.Tensor)):
                    raise _changes(self._module, named(name, key))
        for name, (old, _) in before.items():
            if isinstance(old, NUMBERS + (torch.Tensor,)):
                raise _changes(self._module, name)
        changed = self._kept.changed()
        if changed is not None:
            raise _changes(self._module, changed[0].lstrip("."))
        return saved

    def restore(self) -> None:
        self._kept.restore()
        for name, holder in list(holders_of(self._module)):
            before = self._contents.get(name, (None, None))
            if before[0] is not holder:
                continue
            if isinstance(holder, list):
                holder[:] = before[1]
                continue
            for key, value in entries_of(holder):
                if key in before[1]:
                    holder[key] = before[1][key]
                elif holds_tensor(value):
                    del holder[key]


def _version_of(value: object) -> int:
    return value._version if isinstance(value, torch.Tensor) else 0


def _changes(module: torch.nn.Module, name: str) -> sc.InvalidError:
    part, _, attribute = name.rpartition(".")
    if part and attribute == "training":
        return sc.InvalidError(f"part '{part}' is made, replaced or set to another mode while the loss is computed, "
                               "which is not part of the exported graph; do it before compile()")
    owner = max((each for each, _ in module.named_modules() if not each or name.startswith(f"{each}.")), key=len)
    return sc.InvalidError(
        f"{name} changes while the loss is computed, but it is not part of the exported graph; make it a buffer: "
        f"a tensor that forward() changes in place{place_of(type(module.get_submodule(owner)).forward)}")


class Hooks:
    """The hooks of a model and of an optimizer. Those of modules' forward are part of what was traced; others would not
    be called, and are errors.

    Each registration takes a number of RemovableHandle, so that no hook is looked at until one has been registered.
    """

    def __init__(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer | None,
                 parts: Iterable[torch.nn.Module] = ()) -> None:
        """parts: further modules that the loss calls."""
        self._module = module
        self._parts = [part for part in parts if not any(part is each for each in module.modules())]
        self._optimizer = optimizer
        self._traced = {name: list(getattr(*place).values()) for name, place in self._places().items()}
        self._require_none()
        self._number = RemovableHandle.next_id
        self._kept: list[tuple[object, str, Hooked, int]] = [
            (*place, hooks, len(hooks)) for place in self._places().values() if (hooks := getattr(*place))]

    def require_same(self) -> None:
        if RemovableHandle.next_id == self._number and all(
                getattr(part, kind) is hooks and len(hooks) == count for part, kind, hooks, count in self._kept):
            return
        self._require_none()
        for name, place in self._places().items():
            if list(getattr(*place).values()) != self._traced.get(name, []):
                raise sc.InvalidError(f"part '{name.rpartition(':')[0]}' has other forward hooks than when the model "
                                      f"was compiled, which the step would still call; {AGAIN}")
        self._number = RemovableHandle.next_id

    def _places(self) -> dict[str, tuple[object, str]]:
        """What has the hooks of forward, of each part and kind, and as which attribute."""
        holders = list(self._module.named_modules()) + [
            (f"{type(part).__name__} {number} of the loss", part) for number, part in enumerate(self._parts)]
        places: dict[str, tuple[object, str]] = {f"{name}:{kind}": (part, kind) for name, part in holders
                                                 for kind in ("_forward_pre_hooks", "_forward_hooks")}
        for kind in ("_global_forward_pre_hooks", "_global_forward_hooks"):
            places[f"(all):{kind}"] = (_hooks_of_modules, kind)
        return places

    def _require_none(self) -> None:
        require_no_backward_hooks(self._module)
        if _hooks_of_modules._global_backward_hooks or _hooks_of_modules._global_backward_pre_hooks:
            raise sc.InvalidError("there is a backward hook of all modules, which would not be called; remove it")
        if self._optimizer is None:
            return
        of_all = sys.modules["torch.optim.optimizer"]  # which torch.optim hides
        for hooks, what in ((self._optimizer._optimizer_step_pre_hooks, "register_step_pre_hook"),
                            (self._optimizer._optimizer_step_post_hooks, "register_step_post_hook"),
                            (of_all._global_optimizer_pre_hooks, "register_optimizer_step_pre_hook"),
                            (of_all._global_optimizer_post_hooks, "register_optimizer_step_post_hook")):
            if hooks:
                raise sc.InvalidError(
                    f"the optimizer has a hook of its step ({what}), which would not be called; remove it, and do "
                    "before or after step() what it does; what changes the model, after write_back()")


def require_no_backward_hooks(module: torch.nn.Module) -> None:
    for name, parameter in module.named_parameters():
        if parameter._backward_hooks or parameter._post_accumulate_grad_hooks:
            raise sc.InvalidError(f"parameter '{name}' has a gradient hook, which would not be called; remove it")
    for name, part in module.named_modules():
        if part._backward_hooks or part._backward_pre_hooks:
            raise sc.InvalidError(
                f"part '{name}', a {type(part).__name__}, has a backward hook, which would not be called; remove it")


class Watched:
    """What compile() has read of a model's parameters and of its optimizer.

    rates: by the number of a parameter group, the variable of its learning rate, which may change; None if the group
    trains nothing.
    """

    def __init__(self, module: torch.nn.Module, optimizer: object, rates: Rates,
                 parts: Iterable[torch.nn.Module] = ()) -> None:
        self._names, self._parameters = [list(each) for each in zip(*module.named_parameters())] or [[], []]
        self._flags = [parameter.requires_grad for parameter in self._parameters]
        self._epoch, self._are_kept = 0, False  # of the watches, when the flags were these, and whether they see flags
        self._optimizer = optimizer if isinstance(optimizer, torch.optim.Optimizer) else None
        self._hooks = Hooks(module, self._optimizer, parts)
        self._groups = _groups_of(self._optimizer)
        self._members = [list(group["params"]) for group in self._groups_now]
        self._states = self._states_now()
        self._state = self._watch_state()
        self._has_stepped = False
        self._rates = rates
        if self._optimizer is not None:
            self._optimizer.register_state_dict_pre_hook(_refusal_of(weakref.ref(self)))

    def require_no_state(self) -> None:
        """Raises InvalidError if the trainer has sums of earlier steps, of which the optimizer knows nothing."""
        if self._has_sums():
            raise sc.InvalidError(f"the optimizer's state_dict() lacks what steps have added up: {WHERE_STATE_IS}. "
                                  "Save all of training by trainer.save(path), for trainer.load(path)")

    def _has_sums(self) -> bool:
        """Whether earlier steps, of the trainer's own or of a file, have added up anything but parameters."""
        adds_up = not isinstance(self._optimizer, torch.optim.SGD) or any(each["momentum"] for each in self._groups)
        return self._has_stepped and adds_up

    def require_unchanged(self, watches: Watches) -> None:
        """watches: tensors, most of them the parameters, that have just been compared."""
        if watches.epoch != self._epoch or not self._are_kept:
            self._require_same_flags()
        if watches.epoch != self._epoch:
            self._epoch, self._are_kept = watches.epoch, watches.keep_flags(self._parameters)
        self._hooks.require_same()
        if self._optimizer is not None:
            self._require_same_groups()

    def require_same_hooks(self) -> None:
        self._hooks.require_same()

    def _require_same_flags(self) -> None:
        for name, parameter, before in zip(self._names, self._parameters, self._flags):
            if parameter.requires_grad != before:
                now, then = ("frozen", "trained") if before else ("trained", "frozen")
                raise sc.InvalidError(
                    f"parameter '{name}' is {now}, but it was {then} when the model was compiled: {AGAIN}")

    @property
    def follows_rates(self) -> bool:
        """Whether steps take the learning rates of an optimizer of PyTorch."""
        return any(self._rates.values())

    def changed_rates(self) -> dict[str, float]:
        """{variable: learning rate} of the groups whose rate is another than the session's."""
        rates = {variable: (_plain(self._groups_now[number]["lr"]), self._groups[number]["lr"])
                 for number, variable in self._rates.items() if variable}
        return {variable: rate for variable, (rate, before) in rates.items() if rate != before}

    def note_rates(self) -> None:
        """Takes the optimizer's rates as those of the session, and notes in it, for its scheduler, that there is a
        step."""
        for number in self._rates:
            self._groups[number]["lr"] = _plain(self._groups_now[number]["lr"])
        self.note_sums()
        if self._optimizer is not None:
            self._optimizer._opt_called = True  # type: ignore[attr-defined]  # a scheduler reads it

    def note_sums(self) -> None:
        """Notes that the trainer may have sums of earlier steps, of its own or of a file."""
        self._has_stepped = True

    def take_rates(self, read: Callable[[str], NDArray[Any]]) -> None:
        """Sets the learning rates of the optimizer's groups to those of the session, which have come from a file: as in
        PyTorch, where loading an optimizer's state sets its rates. `read`: a variable's value by its name."""
        for number, variable in self._rates.items():
            if variable is None:
                continue
            group, value = self._groups_now[number], read(variable)
            if value.dtype.type(_plain(group["lr"])) != value:
                if isinstance(group["lr"], torch.Tensor):
                    group["lr"].fill_(float(value))
                else:
                    group["lr"] = float(value)
            self._groups[number]["lr"] = _plain(group["lr"])

    def _require_same_groups(self) -> None:
        groups = self._groups_now
        if len(groups) != len(self._groups):
            raise sc.InvalidError(
                f"the optimizer has {len(groups)} parameter groups, but it had {len(self._groups)} when the model was "
                f"compiled; {AGAIN}")
        for number, (group, before) in enumerate(zip(groups, self._groups)):
            for key, value in before.items():
                now = _plain(group.get(key))
                if now != value and not (key == "lr" and number in self._rates):
                    raise sc.InvalidError(
                        f"{key} of group {number} of the optimizer is {now!r}, but it was {value!r} when the model was "
                        "compiled; its values are read only then, except learning rates without schedule=; " +
                        (f"give the scheduler {CYCLES}, or " if key in ("betas", "momentum") else "") + AGAIN)
        if not self._have_members():
            raise sc.InvalidError("the optimizer's groups have other parameters than when the model was compiled; "
                                  + AGAIN)
        if self._optimizer is not None and self._optimizer.state is not self._state:
            if self._has_sums():
                raise sc.InvalidError(f"the optimizer has a new state, but {WHERE_STATE_IS}")
            if isinstance(self._optimizer.state, _State):
                self._optimizer.state.require_no_sums("that of another trainer's steps")
            self._state = self._watch_state()
        if self._optimizer is not None:
            require_own_step(self._optimizer)
        if self._states_now() != self._states:
            raise sc.InvalidError("the optimizer's state is not that of compile(): it has taken a step of its own, or "
                                  "one was loaded into it; a step does not read it, and the state of a PyTorch "
                                  "optimizer cannot be taken over. Compile again with a new optimizer, and load() what "
                                  "a trainer's save() wrote, if there is such a file")

    @property
    def _groups_now(self) -> list[dict[str, Any]]:
        return [] if self._optimizer is None else self._optimizer.param_groups

    def _watch_state(self) -> object:
        """Puts a state in the optimizer that refuses to be read and set, and returns it."""
        if self._optimizer is None:
            return None
        state = _State(dict, dict.items(self._optimizer.state))
        state.has_sums = self._has_sums
        self._optimizer.state = state
        return state

    def _have_members(self) -> bool:
        return all(len(group["params"]) == len(members) and all(map(operator.is_, group["params"], members))
                   for group, members in zip(self._groups_now, self._members))

    def _states_now(self) -> list[tuple[Any, ...]]:
        """What identifies the values in the optimizer's state; empty ones do not count."""
        if self._optimizer is None or not dict.__len__(self._optimizer.state):
            return []
        return [(id(parameter), key, id(value), value._version if isinstance(value, torch.Tensor) else value)
                for parameter, state in dict.items(self._optimizer.state) for key, value in state.items()
                if value is not None]  # SGD without momentum notes that it has no buffer


def require_own_step(optimizer: torch.optim.Optimizer) -> None:
    """Raises InvalidError if its step() is not that of its class, but for what a scheduler puts around it."""
    step = vars(optimizer).get("step")
    if step is not None and not getattr(step, "_wrapped_by_lr_sched", False):
        raise sc.InvalidError("the optimizer's step() was replaced on this optimizer, but a compiled step does not "
                              "call it; give clip_norm=, clip_value= or schedule= to compile(), or a new optimizer")


CYCLES = "cycle_momentum=False if it is a OneCycleLR or a CyclicLR"
WHERE_STATE_IS = ("momentum and other sums of earlier steps lie in the trainer, and go on; to begin with new ones, "
                  "compile again with a new optimizer")


def _refusal_of(watched: weakref.ref[Watched]) -> Callable[[torch.optim.Optimizer], None]:
    """A hook of the optimizer, which outlives the trainer."""

    def refuse(optimizer: torch.optim.Optimizer) -> None:
        alive = watched()
        if alive is not None:
            alive.require_no_state()

    return refuse


class _State(collections.defaultdict[Any, Any], Guarded):
    """The state of an optimizer whose steps a trainer takes. What steps add up is not here, so that neither reading it
    nor setting it anew would do what it does in PyTorch."""

    has_sums: Callable[[], bool]

    def copy(self) -> Any:
        self.require_no_sums("copied")
        return collections.defaultdict(dict, dict.items(self))

    __copy__ = copy

    def __reduce__(self) -> Any:
        self.require_no_sums("copied")
        return collections.defaultdict, (dict,), None, None, iter(dict.items(self))

    def require_no_sums(self, what: str) -> None:
        if self.has_sums():
            raise sc.InvalidError(f"the optimizer's state is {what}, but {WHERE_STATE_IS}")


def _guarded(name: str, what: str) -> Callable[..., Any]:
    method = getattr(collections.defaultdict, name)

    def call(state: _State, *arguments: Any, **keywords: Any) -> Any:
        state.require_no_sums(what)
        return method(state, *arguments, **keywords)

    return call


for _name in ("clear", "pop", "popitem", "__delitem__"):
    setattr(_State, _name, _guarded(_name, "emptied"))
for _name in ("__setitem__", "update", "setdefault", "__ior__"):
    setattr(_State, _name, _guarded(_name, "set"))
for _name in ("__getitem__", "__iter__", "__len__", "__contains__", "get", "keys", "values", "items"):
    setattr(_State, _name, _guarded(_name, "read"))


def _groups_of(optimizer: torch.optim.Optimizer | None) -> list[dict[str, Any]]:
    """The hyperparameters of each parameter group."""
    return [{key: _plain(value) for key, value in group.items() if key not in ("params", "initial_lr")}
            for group in (optimizer.param_groups if optimizer is not None else [])]


def _plain(value: object) -> Any:
    return value.item() if isinstance(value, torch.Tensor) and value.numel() == 1 else value
