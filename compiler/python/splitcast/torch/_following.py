"""How a session and the user's model follow each other.

The rule: `compile` leaves the model as it is, and so do steps. What the user changes in the model's parameters and
buffers, or in other tensors that the loss reads, reaches the next step, evaluation or file, as long as the model has
the values that steps go on from: after compile() and after write_back(). What trainer.state_dict() gave may be loaded
into it, which changes nothing. A tensor is *stale* if steps or a file have given its variable another
value since. Changing it then is an error, because the change starts from old values.
"""
from __future__ import annotations

import gc
import itertools
import sys
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import splitcast as sc
import torch
from splitcast.torch._again import AGAIN, ANEW
from splitcast.torch._constants import Constants, Origin
from splitcast.torch._origins import origin_of_module
from splitcast.torch._watches import Watch, Watches, has_place, has_same_bits, memory_of, place_of


class IncompatibleKeys(NamedTuple):
    """What Trainer.load and load_state_dict return, as torch.nn.Module.load_state_dict does."""
    missing_keys: list[str]
    unexpected_keys: list[str]


# By which a module says what its state dict has.
_STATE_METHODS = ("state_dict", "load_state_dict", "_save_to_state_dict", "_load_from_state_dict", "get_extra_state",
                  "set_extra_state")
_STATE_HOOKS = ("_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
                "_load_state_dict_post_hooks")

_ALL: weakref.WeakValueDictionary[int, Following] = weakref.WeakValueDictionary()  # of all trainers, in their order
_NUMBERS = itertools.count()


class Following:
    """The variables of a session beside the tensors of the user that they stand for.

    tensors: the model's parameters and buffers by the variable's name, one of those that share memory. names: the
    variable by each of their names. changing: the variables that steps change. as_held: a tensor as the array that a
    variable takes.
    """

    def __init__(self, module: torch.nn.Module, session: sc.Session, tensors: dict[str, torch.Tensor],
                 names: dict[str, str], changing: Iterable[str], constants: Constants,
                 as_held: Callable[[torch.Tensor], Any]) -> None:
        self._module = module
        self._session = session
        self._tensors = tensors
        self._names = names
        self._changing = frozenset(changing)
        self._constants = constants
        self._as_held = as_held
        self._entries = list(module.state_dict())
        self._stale: set[str] = set()
        self._are_stale = False  # whether all that steps change are among these
        self._steps = 0
        self._given: dict[str, torch.Tensor] = {}  # what state_dict() gave since the last step, by variable
        self._values = {name: each for name, each in self._all_tensors().items() if name in names}
        objects = {id(each) for each in self._values.values()}
        self._watches = Watches(self._values.items(), [each.tensor for each in constants.origins()
                                                       if id(each.tensor) not in objects and has_place(each.tensor)])
        self._origins = Watches([])
        self._shared = self._partition()
        self._by_watch: dict[str, Origin] = {}  # by the name of a watch of self._origins

    def begin(self, read: dict[str, torch.Tensor]) -> None:
        """Writes all variables, and watches the tensors from now on. read: other tensors that tracing has read."""
        for name, tensor in self._tensors.items():
            self._session.write(name, self._as_held(tensor))
        known = self._session.variables  # without those that nothing uses
        for name in [name for name in self._constants.values if name not in known]:
            self._constants.forget(name)
        for name, value in self._constants.values.items():
            self._session.write(name, self._as_held(value))
        self._watches.arm(self._watches.all)
        places = {place_of(each) for each in self._values.values()}
        of_place = {place_of(origin.tensor): origin for origin in self._constants.origins()
                    if place_of(origin.tensor) not in places}
        seen, origins = set(places), []
        for name, tensor in [*read.items(), *((origin.name, origin.tensor) for origin in of_place.values())]:
            if has_place(tensor) and place_of(tensor) not in seen:
                seen.add(place_of(tensor))
                origins.append((name, tensor))  # as the user calls it, and the object that the user has
                if place_of(tensor) in of_place:
                    self._by_watch[name] = of_place[place_of(tensor)]
        objects = {id(tensor) for _, tensor in origins}
        self._origins = Watches(origins, [each.tensor for each in self._constants.origins()
                                          if id(each.tensor) not in objects and has_place(each.tensor)])
        names = {id(tensor): name for name, tensor in self._module.named_buffers(remove_duplicate=False)}
        self._buffers = [(watch, names[id(watch.tensor)]) for watch in [*self._watches.all, *self._origins.all]
                         if id(watch.tensor) in names]
        memory = self._memory()
        self._others = [weakref.ref(each) for each in _ALL.values() if memory & each._memory()]
        for other in self._others:
            if (found := other()) is not None:
                found._others.append(weakref.ref(self))
        _ALL[next(_NUMBERS)] = self

    def _memory(self) -> set[int]:
        """The memory of all tensors that the graph has values of."""
        return {memory_of(watch.tensor) for watches in (self._watches, self._origins) for watch in watches.all}

    def require_given(self) -> None:
        """Raises InvalidError if a tensor that this model reads has another value in another trainer."""
        for each in self._others:
            other = each()
            if other is not None and other._stale and (names := other.not_given(self._memory(), self)):
                raise sc.InvalidError(
                    f"'{names[0]}' has another value in another trainer, which has taken steps or loaded it since the "
                    "model got its value; call write_back() of that trainer before this one goes on from it")

    def not_given(self, memory: set[int], reader: Following | None = None) -> list[str]:
        """The names of variables that lie in this memory, and have other values than it, or than the variables of
        `reader` if these are newer. All ranks call it."""
        newer = {memory_of(reader._tensors[name]): name for name in reader._stale} if reader else {}
        found = []
        for name in sorted(name for name in self._stale if memory_of(self._tensors[name]) in memory):
            own = newer.get(memory_of(self._tensors[name]))
            if not self._has_value(name, self._tensors[name] if reader is None or own is None else reader._value(own)):
                found.append(name)
            elif own is None:  # such as after model.load_state_dict(trainer.state_dict())
                self._note_current(name)
        return found

    def _has_value(self, name: str, tensor: torch.Tensor) -> bool:
        value = self._value(name)
        return value.shape == tensor.shape and value.dtype == tensor.dtype and has_same_bits(value, tensor.detach())

    def _note_current(self, name: str) -> None:
        """The model has the variable's value."""
        self._stale.discard(name)
        self._are_stale = False

    # ---- What the user changes ----

    def carry(self, loading: frozenset[str] = frozenset()) -> None:
        """Takes over what the user has changed. All ranks call it with the same changes.

        loading: variables that get whole values next, so that changes of old ones do not matter. Raises InvalidError,
        before anything is written, if a change cannot reach the session.
        """
        touched = self._watches.changed(lambda name: self._names[name] in self._stale)
        others = self._origins.changed()
        if not touched and not others:
            return
        self._require_same_sharing()
        current = [watch for watch in touched if self._require_current(watch, loading)]
        for origin in self._constants.origins():  # what the graph has, and not what the user's tensor has now
            if origin.loaded is None and origin.variable is not None and origin.variable in loading & self._stale:
                origin.loaded = self._value(origin.variable)
        buffers = self._origins_under({self._names[watch.name] for watch in current})
        values = self._after(self._origins_of(others) + buffers)
        for watch in current:
            self._session.write(self._names[watch.name], self._as_held(watch.tensor))
        for name, value in values.items():
            self._session.write(name, self._as_held(value))
        self._watches.arm(touched)
        self._origins.arm(others)

    def discard(self) -> None:
        """Gives up what the user has changed in tensors whose variables have newer values. All ranks call it."""
        self.carry(loading=frozenset(self._stale))

    def take_assigned(self) -> None:
        """Takes buffers of the model that the user has put in the place of others."""
        buffers = dict(self._module.named_buffers(remove_duplicate=False))
        for watch, name in self._buffers:
            now = buffers.get(name)
            if now is not None and now is not watch.tensor:
                self.replace(watch.name, watch.tensor, now)

    def replace(self, name: str, before: torch.Tensor, now: torch.Tensor) -> None:
        """The user has put another tensor in the place of one that tracing has read, such as a buffer of the model."""
        if not has_place(now) or now.dtype != before.dtype or now.shape != before.shape:
            raise sc.InvalidError(f"{name} is a tensor {now.dtype} {tuple(now.shape)}, but it was {before.dtype} "
                                  f"{tuple(before.shape)} when the model was compiled; {ANEW}")
        tensors = self._all_tensors()
        for watch in [each for watches in (self._watches, self._origins) for each in watches.all]:
            if watch.tensor is not before and place_of(watch.tensor) != place_of(before):
                continue
            if watch.name in self._names and tensors.get(watch.name) is not now:
                raise sc.InvalidError(f"{name} is another tensor, but it was '{watch.name}' of the model when that was "
                                      f"compiled; {ANEW}")
            self._swap(watch, now)

    def _swap(self, watch: Watch, now: torch.Tensor) -> None:
        for variable, tensor in self._tensors.items():
            if tensor is watch.tensor:
                self._tensors[variable] = now
        for origin in self._constants.origins():
            if origin is self._by_watch.get(watch.name) or place_of(origin.tensor) == place_of(watch.tensor):
                origin.tensor = now.detach()
        watch.put(now)
        for watches in (self._watches, self._origins):
            watches.sort()

    def _require_current(self, watch: Watch, loading: frozenset[str]) -> bool:
        """Whether the session needs the tensor's new value. Raises InvalidError if that starts from an old one."""
        variable = self._names[watch.name]
        now, known = watch.tensor.detach(), watch.known
        if now.dtype != known.dtype or now.shape != known.shape:
            raise sc.InvalidError(f"'{watch.name}' of the model is {now.dtype} {tuple(now.shape)}, but it was "
                                  f"{known.dtype} {tuple(known.shape)} when the model was compiled; change it back, "
                                  "call write_back(discard=True), do it again, and compile again with a new optimizer")
        if variable in self._changing and any(
                stride == 0 and extent > 1 for stride, extent in zip(now.stride(), now.shape)):
            raise sc.InvalidError(f"'{watch.name}' of the model repeats elements of its memory, as by expand(), and "
                                  "a step would change each of them by itself; give it memory of its own by clone()")
        if variable not in self._stale:
            return True
        if variable in loading:
            return False
        given = self._given.get(variable)
        if given is not None and given.shape == now.shape and has_same_bits(given.to(now.dtype), now):
            self._note_current(variable)
            return False
        raise sc.InvalidError(
            f"'{watch.name}' of the model was written to, or its memory was given out (to NumPy or a file), but the "
            "model does not have the values that training has reached, since steps leave it as it is; call "
            "trainer.write_back() before such a change, which gives them to the model. Now "
            "trainer.write_back(discard=True) gives the change up, or trainer.load_state_dict() loads whole values")

    def _origins_of(self, watches: list[Watch]) -> list[Origin]:
        """The origins that are these tensors. What has none has decided what is in the graph."""
        found: list[Origin] = []
        for watch in watches:
            origin = self._by_watch.get(watch.name)
            if origin is None:
                raise _is_baked(watch.name)
            now = watch.tensor.detach()
            if now.dtype != watch.known.dtype or now.shape != watch.known.shape:
                raise sc.InvalidError(f"the tensor {watch.name} is {now.dtype} {tuple(now.shape)}, but it was "
                                      f"{watch.known.dtype} {tuple(watch.known.shape)} when the model was compiled; "
                                      + ANEW)
            origin.tensor = now  # which may be in other memory
            found.append(origin)
        return found

    def _origins_under(self, variables: set[str]) -> list[Origin]:
        """The origins that are buffers of the model with these variables, as the user has changed them."""
        found = [origin for origin in self._constants.origins() if origin.variable in variables]
        for origin in found:
            origin.loaded = None
        return found

    def _after(self, changed: list[Origin]) -> dict[str, torch.Tensor]:
        """The values of the constants that follow these origins. Raises InvalidError if the graph cannot follow."""
        for origin in changed:
            if origin.is_baked:
                raise _is_baked(origin.name)
        values = self._constants.after(frozenset(changed)) if changed else {}
        if values is None:
            raise sc.InvalidError(f"the elements of {', '.join(origin.name for origin in changed)} are others than "
                                  "when the model was compiled, in a way that its graph cannot hold, since rows of "
                                  f"what follows from them were equal then; {AGAIN}")
        return values

    def _all_tensors(self) -> dict[str, torch.Tensor]:
        result: dict[str, torch.Tensor] = dict(self._module.named_parameters(remove_duplicate=False))
        result.update(self._module.named_buffers(remove_duplicate=False))
        return result

    @property
    def watches(self) -> Watches:
        """Those of the model's parameters and buffers."""
        return self._watches

    def _partition(self) -> list[list[str]]:
        """The names that share memory: as the same elements, and in any way."""
        tensors = {watch.name: watch.tensor for watch in self._watches.all}
        return partition_of(tensors) + _overlapping(tensors)

    def _require_same_sharing(self) -> None:
        now = self._partition()
        if now == self._shared:
            return
        for names in now + self._shared:
            if names not in now:
                raise sc.InvalidError(f"parameters {', '.join(names)} do not share their memory any more, but did when "
                                      "the model was compiled; let them share it again, write_back(), give each its "
                                      "own, and compile again with a new optimizer")
            if names not in self._shared and len(names) > 1:
                raise sc.InvalidError(f"parameters {', '.join(names)} share their memory now, but did not when the "
                                      "model was compiled; give each its own again, write_back(), let them share it, "
                                      "and compile again with a new optimizer")

    # ---- What steps change ----

    @property
    def steps(self) -> int:
        """How many steps were taken since the compilation."""
        return self._steps

    def stepped(self) -> None:
        """Notes that a step has changed the variables."""
        self._steps += 1
        if not self._are_stale:
            self._stale |= self._changing
            self._are_stale = True
        if self._given:
            self._given = {}

    def loaded(self, names: Iterable[str] | None = None) -> None:
        """Notes that these variables, or all of them, have got other values than the model has."""
        of_model = set(self._tensors if names is None else names) & set(self._tensors)
        self._stale |= of_model
        self._given = {}
        if names is None:  # which replaces what was changed in the model and not carried
            self._watches.arm(self._watches.all)
        self._follow_loaded(of_model)

    def _follow_loaded(self, names: set[str]) -> None:
        """Computes constants again that depend on buffers whose variables were set."""
        changed: list[Origin] = []
        for origin in self._constants.origins():
            if origin.variable in names and origin.variable is not None:
                value = self._value(origin.variable)
                if not has_same_bits(origin.current.to(value.dtype), value):
                    origin.loaded = value
                    changed.append(origin)
        for name, value in self._after(changed).items():
            self._session.write(name, self._as_held(value))

    def _require_in_model(self) -> None:
        """Raises InvalidError if the model has not the tensors any more that were trained."""
        held = {name: memory_of(each) for name, each in self._all_tensors().items() if has_place(each)}
        found = {variable for name, variable in self._names.items()
                 if held.get(name) == memory_of(self._tensors[variable])}
        if lost := sorted(self._stale - found):
            raise sc.InvalidError(f"'{lost[0]}' of the model is another tensor than when the model was compiled, or is "
                                  f"not there any more, so that it would not get what was trained; {ANEW}")

    def write_back(self) -> None:
        self._require_in_model()
        for name in sorted(self._stale):
            with torch.no_grad():
                self._tensors[name].copy_(self._value(name))
        written = {memory_of(self._tensors[name]) for name in self._stale}
        self._stale, self._are_stale = set(), False
        for origin in self._constants.origins():
            origin.loaded = None
        self._watches.arm(self._watches.all)
        for each in self._others if written else []:
            if (other := each()) is not None:
                other._watches.note_written(written)

    def _value(self, name: str) -> torch.Tensor:
        array = self._session.read(name)
        value = torch.from_numpy(np.ascontiguousarray(array)).reshape(array.shape)
        if self._session.variables[name][0] == sc.bf16:
            value = value.view(torch.bfloat16)
        return value.to(self._tensors[name].dtype)

    # ---- State dicts ----

    def _require_plain_state(self, method: str, instead: str) -> None:
        """Raises InvalidError if the model makes or reads its state dict otherwise than PyTorch's modules do."""
        for name, part in self._module.named_modules():
            for own in _STATE_METHODS:
                defined = next(vars(kind)[own] for kind in type(part).__mro__ if own in vars(kind))
                if _is_of_user(defined):
                    raise sc.InvalidError(f"part '{name}' ({type(part).__name__}) has its own {own}(), which "
                                          f"{method}() of a trainer does not call; call {instead}")
            hooks = [each for each in _STATE_HOOKS if any(map(_is_of_user, getattr(part, each, {}).values()))]
            if hooks:
                raise sc.InvalidError(f"part '{name}' ({type(part).__name__}) has hooks of its state dict ({hooks[0]})"
                                      f", which {method}() of a trainer does not call; call {instead}")

    def state_dict(self) -> dict[str, Any]:
        self._require_plain_state("state_dict", "write_back(), and then state_dict() of the model")
        values = {name: self._value(name) for name in self._tensors}
        self._given = {name: _kept(value) for name, value in values.items()}
        now = self._module.state_dict()
        if any(name not in now for name in self._entries):  # another part is in a place: as the model was compiled
            now = {name: now.get(name) for name in self._entries if name in now or name in self._names}
        return {name: values[self._names[name]] if name in self._names else
                value.detach() if isinstance(value, torch.Tensor) else value
                for name, value in now.items()}

    def load_state_dict(self, state: dict[str, Any], strict: bool) -> IncompatibleKeys:
        self._require_plain_state("load_state_dict", "write_back(), and then load_state_dict() of the model, which the "
                                  "next step follows")
        mine = self._module.state_dict(keep_vars=True)  # the tensors themselves, since others would share their memory
        missing, unexpected = [name for name in mine if name not in state], [name for name in state if name not in mine]
        keys = IncompatibleKeys(missing, unexpected)
        if strict and (missing or unexpected):
            parts = [f"has no {', '.join(missing)}"] if missing else []
            parts += [f"has {', '.join(unexpected)}, which the model does not have"] if unexpected else []
            raise sc.InvalidError(f"the state dict {' and it '.join(parts)}; give one with the model's names, or "
                                  "strict=False")
        chosen: dict[str, torch.Tensor] = {}
        others: dict[str, torch.Tensor] = {}
        for name, value in mine.items():
            if name not in state:
                continue
            if not isinstance(value, torch.Tensor):
                if state[name] != value:
                    raise sc.InvalidError(f"entry {name} of the state dict is no tensor, and another value than the "
                                          "model has; load it into the model, and compile again")
                continue
            given, wanted = [(of.dtype, tuple(of.shape)) for of in (state[name], value)]
            if given != wanted:
                raise sc.InvalidError(f"entry {name} of the state dict is {given[0]} {given[1]}; it must be "
                                      f"{wanted[0]} {wanted[1]}")
            variable = self._names.get(name)
            if variable is None:
                others[name] = state[name]
            else:  # of several names the last one counts, as in PyTorch
                chosen[variable] = state[name]
        self._require_loadable(mine, others)
        self.carry(frozenset(chosen))
        for variable, tensor in chosen.items():  # copied, since an array of the model's own tensor could write to it
            self._session.write(variable, self._as_held(tensor.detach().clone()))
        for name, tensor in others.items():
            with torch.no_grad():
                mine[name].copy_(tensor)
        self.loaded(chosen)
        self.carry()
        return keys

    def _require_loadable(self, mine: dict[str, Any], others: dict[str, torch.Tensor]) -> None:
        """Checks entries that are no variables: the graph has them as constants, or does not read them."""
        baked = {place_of(origin.tensor) for origin in self._constants.origins() if origin.is_baked}
        for name, tensor in others.items():
            if place_of(mine[name]) in baked and not has_same_bits(mine[name], tensor):
                raise sc.InvalidError(f"entry {name} of the state dict is another one than the model was compiled "
                                      "with, and decides what is in the graph; load it into the model, and compile "
                                      "again")


def require_given_to(module: torch.nn.Module) -> None:
    """Raises InvalidError if a trainer has trained or loaded what the module holds, and has not given it the values: a
    compilation would begin with old ones. All ranks call it."""
    memory = {memory_of(each) for each in [*module.parameters(), *module.buffers()] if has_place(each)}

    def lacking() -> list[tuple[str, int]]:
        return [(name, other.steps) for other in list(_ALL.values()) if other._stale
                for name in other.not_given(memory)[:1]]

    if lacking():
        gc.collect()  # of trainers that the program has dropped
        if found := lacking():
            name, steps = found[0]
            raise sc.InvalidError(
                f"'{name}' of the model has another value in a trainer that was compiled before, which has taken "
                f"{steps} step{'s' if steps != 1 else ''}, and compile() would begin without them; call write_back() "
                "of that trainer before, or drop it (del trainer) to begin with the model's own values")


def _is_baked(name: str) -> sc.InvalidError:
    return sc.InvalidError(f"the tensor {name} has other elements than when the model was compiled, which decide what "
                           f"is in the graph; give it as an input of the batch, or {AGAIN}")


def partition_of(tensors: dict[str, torch.Tensor]) -> list[list[str]]:
    """The names of tensors that are the same elements of the same memory, together."""
    found: dict[Any, list[str]] = {}
    for name, tensor in tensors.items():
        found.setdefault(place_of(tensor) if tensor.numel() else name, []).append(name)
    return list(found.values())


def _overlapping(tensors: dict[str, torch.Tensor]) -> list[list[str]]:
    """The names of tensors that have elements of memory in common, together."""
    found: list[list[str]] = []
    of_memory: dict[int, list[tuple[int, int, str]]] = {}
    for name, tensor in tensors.items():
        if tensor.numel():
            begin = int(tensor.storage_offset()) * tensor.itemsize
            last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride()))
            of_memory.setdefault(memory_of(tensor), []).append((begin, begin + (last + 1) * tensor.itemsize, name))
    for parts in of_memory.values():
        until = -1
        for begin, end, name in sorted(parts):
            if begin < until:
                found[-1].append(name)
            else:
                found.append([name])
            until = max(until, end)
    return found


def _is_of_user(function: object) -> bool:
    """Whether neither PyTorch nor we defined it; PyTorch wraps hooks."""
    while (inner := getattr(function, "hook", getattr(function, "func", None))) is not None:
        function = inner
    return origin_of_module(sys.modules.get(getattr(function, "__module__", None) or "")) != "own"


def _kept(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of now, whatever is written to the tensor later."""
    try:
        return torch._lazy_clone(tensor)
    except (RuntimeError, NotImplementedError):
        return tensor.clone()
