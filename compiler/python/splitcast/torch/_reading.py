"""Notes what the user's code reads while it is traced, and refuses what the graph would leave out."""
from __future__ import annotations

import functools
import gc
import inspect
import operator
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import splitcast as sc
import torch
from splitcast.torch._causes import TracedTensorError
from splitcast.torch._code import globals_of, is_within, names_of, reads_first, stores, texts_of
from splitcast.torch._contents import SIMPLE, Absent, differs, holds_tensor, holds_traced
from splitcast.torch._draws import Draws
from splitcast.torch._origins import is_of_users, is_written_by_user, origin_of_code
from splitcast.torch._purity import Kept
from torch.fx.experimental.proxy_tensor import PythonKeyTracer


class Reading:
    """Notes what is read, and refuses what the graph would leave out, while a `with` statement lasts."""

    def __init__(self, module: torch.nn.Module, loss: object, trains: bool = True) -> None:
        """trains: whether the modes of modules count; an evaluation is in evaluation mode whatever they are."""
        self.module = module
        self.loss = loss
        self.trains = trains
        self.modules: dict[int, tuple[torch.nn.Module, dict[str, str]]] = {}  # with the place by the attribute's name
        self.names: set[str] = set()  # of attributes and globals, in the code that was called
        self.mentioned: set[str] = set()  # these, and the texts in it
        self.of_users: set[str] = set()  # those in the user's code
        self.codes: dict[types.CodeType, dict[str, Any]] = {}  # of users; with the globals
        self.objects: dict[int, Any] = {}  # users' objects whose methods were called
        self.used: dict[int, torch.Tensor] = {}  # the user's tensors that functions of PyTorch were given, by id
        self._made: dict[int, Any] = {}  # users' objects that are made while tracing: no state of the program
        self._kinds: dict[types.CodeType, bool] = {}
        self._calls: dict[types.CodeType, list[tuple[object, ...]]] = {}  # the values of free variables in each call
        # What functions take from around them, as it was when they were first called.
        self._kept = Kept(module, reads=self._reads_before, was_read=self.was_read)
        self._computed: dict[int, torch.Tensor] = {}  # tensors that became constants of the graph
        self._parts = {id(part) for part in module.modules()}
        self._names: dict[tuple[types.CodeType, str], object] = {}  # free variables and globals at the first call
        self._caches: dict[int, tuple[functools._lru_cache_wrapper[Any], int]] = {}  # with their misses before
        self._last = ""
        self._drawn: tuple[str, str] | None = None
        self._found: list[types.FunctionType] | None = None  # by _all_functions()

    # ---- While tracing ----

    def __enter__(self) -> Reading:
        self._draws = Draws()
        self._see_arguments(self.loss)
        reads, kinds = self.modules, self._kinds

        def getattribute(module: torch.nn.Module, name: str) -> Any:
            if name.startswith("__") and name != "__dict__":  # such as isinstance() asks for
                return object.__getattribute__(module, name)
            known = reads.get(id(module))
            if known is None:
                known = reads[id(module)] = (module, {})
            if name not in known[1]:
                frame = sys._getframe(1)
                origin = origin_of_code(frame.f_code, frame.f_globals)
                if name != "__dict__" or origin != "own":
                    known[1][name] = "" if origin == "own" else place_of_line(frame.f_code.co_filename, frame.f_lineno)
            return object.__getattribute__(module, name)

        def called(frame: types.FrameType, event: str, argument: object) -> Any:
            code = frame.f_code
            if code.co_name == "__init__" and code.co_argcount:
                self._note_made(frame.f_locals.get(code.co_varnames[0]))
            is_users = kinds.get(code)
            if is_users is None:
                with torch._C.DisableTorchFunction():  # of what the program has, not of stand-ins (_captured.py)
                    is_users = kinds[code] = self._note(frame, code)
            if is_users and code.co_freevars:
                self._note_call(frame, code)
            return self._line if is_users else None

        self._replaced = _refuse_what_steps_leave_out() + self._note_constants()
        self._before = sys.gettrace()
        torch.nn.Module.__getattribute__ = getattribute  # type: ignore[method-assign, assignment]  # until __exit__
        sys.settrace(called)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        sys.settrace(self._before)
        self._found = None
        del torch.nn.Module.__getattribute__
        for holder, name, value in self._replaced:
            setattr(holder, name, value)
        try:
            if error is None or isinstance(error, TracedTensorError):
                self._require_pure()
        finally:
            self._restore()
            self._found = self.functions()  # without others of their codes, which may hold anything
        if isinstance(error, TracedTensorError):
            raise sc.InvalidError(str(error)) from None

    def settle(self) -> None:
        """Checks what the loss has changed so far, before it is traced again from what there was."""
        self._require_pure()
        self._restore()
        self._found = None

    def _all_functions(self) -> list[types.FunctionType]:
        """All functions of the codes that were called. They are found once after tracing: to look through all objects
        of the process takes tens of milliseconds."""
        if self._found is None:
            codes = {*self._calls, *self.codes}
            holders = gc.get_referrers(*codes) if codes else []
            self._found = [each for each in holders if isinstance(each, types.FunctionType) and each.__code__ in codes]
        return self._found

    def _note_constants(self) -> list[tuple[Any, str, Any]]:
        """Lets PyTorch's tracer note the tensors that the graph gets as constants, and returns what was there."""
        before, computed = PythonKeyTracer.create_arg, self._computed

        def create_arg(tracer: PythonKeyTracer, value: object) -> Any:
            if isinstance(value, torch.Tensor):
                computed[id(value)] = value
            return before(tracer, value)

        PythonKeyTracer.create_arg = create_arg  # type: ignore[method-assign, assignment]
        return [(PythonKeyTracer, "create_arg", before)]

    def was_read(self, tensor: torch.Tensor) -> bool:
        """Whether the loss has computed with a tensor that is not one of the model's parameters and buffers."""
        return id(tensor) in self._computed

    def _rebound(self) -> Iterator[tuple[types.CodeType, str, types.CellType, object]]:
        """Free variables of functions that hold another value now, and what it was: since those that were called are
        known by what they hold, only of functions that hold a tensor of the tracing."""
        for function in self._all_functions():
            if function.__code__ not in self._calls:
                continue
            cells = function.__closure__ or ()
            held = [cell.cell_contents if is_filled(cell) else Absent for cell in cells]
            if any(map(holds_traced, held)):
                before: tuple[object, ...] = next((seen for seen in self._calls[function.__code__] if all(
                    one is other or isinstance(other, SIMPLE) or holds_tensor(other)
                    for one, other in zip(held, seen))), ())
                for name, cell, now, value in zip(function.__code__.co_freevars, cells, held, before):
                    if now is not value:
                        yield function.__code__, name, cell, value

    def _restore(self) -> None:
        """Puts back what was in the place of tensors of the tracing, which have no values."""
        for cached, misses in self._caches.values():
            if cached.cache_info().misses != misses:
                cached.cache_clear()
        self._kept.restore()
        for _, _, cell, value in list(self._rebound()):
            if value is not Absent and not holds_traced(value):
                cell.cell_contents = value
        for (code, name), value in self._names.items():
            space = self.codes.get(code, {})
            if name not in code.co_freevars and holds_traced(space.get(name)) and not holds_traced(value):
                space[name] = value

    def _note(self, frame: types.FrameType, code: types.CodeType) -> bool:
        """Notes a function that is called for the first time; returns whether its lines are to be followed."""
        origin = origin_of_code(code, frame.f_globals)
        if origin == "own":
            return False
        for each in (code, *(inner for inner in code.co_consts if isinstance(inner, types.CodeType))):
            names = names_of(each)
            self.names |= names
            names |= texts_of(each)
            self.mentioned |= names
            if origin == "user":
                self.of_users |= names
        values = frame.f_locals
        first = values.get(code.co_varnames[0]) if code.co_argcount else None
        # Objects of libraries count where a module, a closure or a global has them, not as what a library keeps itself.
        if (first is not None and id(first) not in self._made and is_of_users(type(first)) and
                not isinstance(first, (torch.nn.Module, type)) and
                (origin == "user" or is_written_by_user(type(first)))):
            self.objects[id(first)] = first
            self._see(code, code.co_varnames[0], first)
        if isinstance(first, torch.nn.Module) and origin == "user" and id(first) not in self._parts:  # such as the loss
            self._see(code, code.co_varnames[0], first)
        if origin == "user":
            self.codes[code] = frame.f_globals
            for name in code.co_freevars:
                if name in values and not self._is_made(name, code, frame.f_back):
                    self._see(code, name, values[name])
            for name in globals_of(code):
                if name in frame.f_globals:
                    self._see(code, name, frame.f_globals[name])
            if not any(is_within(code, outer) for outer in self.codes):  # which makes it in each call
                is_loss = getattr(self.loss, "__code__", None) is code
                self._see_defaults(self.loss if is_loss else _function_of(frame))
        return origin == "user"

    def _see_defaults(self, function: object) -> None:
        """Notes defaults of a function, which the calls share."""
        if isinstance(function, types.FunctionType):
            code = function.__code__
            names = code.co_varnames[:code.co_argcount]
            defaults = function.__defaults__ or ()
            for name, value in [*zip(names[len(names) - len(defaults):], defaults),
                                *(function.__kwdefaults__ or {}).items()]:
                self._kept.note(name, value, place_of_code(code))

    def _see_arguments(self, loss: object) -> None:
        """Notes the arguments that a partial function holds, and defaults."""
        while isinstance(loss, functools.partial):
            for name, value in [*((f"args[{number}]", each) for number, each in enumerate(loss.args)),
                                *loss.keywords.items()]:
                self._kept.note(name, value, "")
            loss = loss.func
        function = getattr(loss, "__func__", loss)
        self._see_defaults(function if isinstance(function, types.FunctionType) else None)

    def _is_made(self, name: str, code: types.CodeType, frame: types.FrameType | None) -> bool:
        """Whether a free variable is a local one of a call that is under way, and so no state of the program."""
        while frame is not None:
            outer = frame.f_code
            if outer in self.codes and name in outer.co_cellvars and is_within(code, outer):
                return True
            frame = frame.f_back
        return False

    def _note_made(self, value: object) -> None:
        if is_written_by_user(type(value)) and not getattr(value, "__dict__", None):  # not made before, or by a base
            self._made[id(value)] = value

    def _note_call(self, frame: types.FrameType, code: types.CodeType) -> None:
        """Notes what a function takes from around it: others of the same code may have other values."""
        values = frame.f_locals
        seen = tuple(values.get(name, Absent) for name in code.co_freevars)
        calls = self._calls.setdefault(code, [])
        if not any(all(map(operator.is_, seen, other)) for other in calls):
            calls.append(seen)

    def _was_called(self, function: types.FunctionType) -> bool:
        cells = function.__closure__ or ()
        held = [cell.cell_contents if is_filled(cell) else Absent for cell in cells]
        return not cells or any(all(one is other or isinstance(other, SIMPLE) for one, other in zip(held, seen))
                                for seen in self._calls.get(function.__code__, []))

    def _see(self, code: types.CodeType, name: str, value: object) -> None:
        """Notes a value that a function takes from around it, to find out whether the function changes it."""
        self._names[(code, name)] = value
        if isinstance(value, operator.attrgetter):
            texts: tuple[str, ...] = value.__reduce__()[1]  # type: ignore[assignment]
            names = {part for text in texts for part in text.split(".")}
            self.names |= names
            self.mentioned |= names
        if isinstance(value, functools._lru_cache_wrapper):
            self._caches.setdefault(id(value), (value, value.cache_info().misses))
        self._kept.note(name, value, place_of_code(code))

    def _reads_before(self, key: object, is_attribute: bool) -> bool:
        """Whether the user's code reads an attribute or a key without having set it before."""
        return any(reads_first(code, key, is_attribute) for code in self.codes)

    def set_texts(self) -> list[str]:
        """The texts that the loss has set in place of None."""
        self._kept.changed()
        return self._kept.set_texts

    def _line(self, frame: types.FrameType, event: str, argument: object) -> Any:
        if self._drawn is None:
            drawn = self._draws.changed()
            if drawn:
                self._drawn = (drawn, self._last)
        if event == "line":
            self._last = place_of_line(frame.f_code.co_filename, frame.f_lineno)
        return self._line

    def _require_pure(self) -> None:
        """Checks that the loss has neither drawn numbers nor changed Python's values, which steps would not do."""
        drawn = self._drawn or (self._draws.changed(), self._last if self._draws.changed() else "")
        if drawn[0]:
            raise sc.InvalidError(f"the loss draws random numbers from {drawn[0]}{drawn[1]}, which a compiled step "
                                  "would not draw again; draw them outside and give them as inputs of the batch, or "
                                  "use torch.rand or torch.randn without a generator of your own")
        changed = self._kept.changed()
        if changed is not None:
            name, place = changed
            raise sc.InvalidError(f"the loss changes {name}{place} while it is computed, which a compiled step would "
                                  "not do again; make it a buffer of the model, return it from the loss function in a "
                                  "dict beside 'loss', leave it out, or, if it is a cache, fill it before compile()")
        self._require_names()

    def _require_names(self) -> None:
        """Checks that what functions have from around them is what it was when they were called."""
        rebound = [(code, name, value, cell.cell_contents) for code, name, cell, value in self._rebound()]
        globals_ = [(code, name, value, self.codes.get(code, {}).get(name, value))
                    for (code, name), value in self._names.items() if name not in code.co_freevars]
        for code, name, value, now in rebound + globals_:
            if self._kept.is_replaced(value, now):
                raise sc.InvalidError(f"the loss changes {name}{place_of_code(code)} while it is computed, which a "
                                      "compiled step would not do again; make it a buffer of the model, or an input "
                                      "of the batch")
        for (code, name), value in self._names.items():
            now = self.codes.get(code, {}).get(name, value) if name not in code.co_freevars else value
            carries = isinstance(value, SIMPLE) and holds_tensor(now)  # it is read here, by this function
            if carries or (isinstance(now, SIMPLE) and differs(now, value)):
                raise sc.InvalidError(f"the loss changes {name}{place_of_code(code)} while "
                                      "it is computed, which a compiled step would not do again; make it a buffer of "
                                      "the model, or an input of the batch")
        for function in self.functions():
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
                value = self._names.get((function.__code__, name))
                if isinstance(value, SIMPLE) and value is not None and is_filled(cell) and isinstance(
                        cell.cell_contents, type(value)) and function.__code__.co_freevars and stores(
                            function.__code__, name) and differs(cell.cell_contents, value):
                    code = function.__code__
                    raise sc.InvalidError(f"the loss changes {name}{place_of_code(code)} "
                                          "while it is computed, which a compiled step would not do again; make it a "
                                          "buffer of the model, or an input of the batch")

    # ---- Afterwards ----

    def functions(self) -> list[types.FunctionType]:
        """The users' functions that were called."""
        found = [each for each in self._all_functions() if each.__code__ in self.codes and self._was_called(each)]
        return sorted(found, key=lambda each: (each.__code__.co_filename, each.__code__.co_firstlineno))


def _is_own_call() -> bool:
    """Whether PyTorch itself has called who asks."""
    frame = sys._getframe(2)
    return origin_of_code(frame.f_code, frame.f_globals) == "own"


def _line_of_call() -> str:
    frame = sys._getframe(2)
    return place_of_line(frame.f_code.co_filename, frame.f_lineno)


def _refuse_what_steps_leave_out() -> list[tuple[Any, str, Any]]:
    """Puts functions that raise in the place of those whose effect on the loss no graph has, and returns what was
    there: (holder, name, value)."""
    Hooks = torch.autograd.graph.saved_tensors_hooks
    before = [(space, name, getattr(space, name)) for space in (torch, torch.random)
              for name in ("manual_seed", "seed", "set_rng_state")] + [(Hooks, "__enter__", Hooks.__enter__)]

    def seeding(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def seed(*arguments: Any, **keywords: Any) -> Any:
            if _is_own_call():
                return call(*arguments, **keywords)
            raise sc.InvalidError(
                f"the loss calls torch.{name}{_line_of_call()}, but a compiled step draws numbers of its own, which "
                "differ from step to step; draw what is to be alike outside, and give it as an input of the batch")
        return seed

    def enter(hooks: Any, call: Callable[[Any], Any] = Hooks.__enter__) -> Any:
        if _is_own_call() or type(hooks) is not Hooks:  # such as save_on_cpu, which changes no value
            return call(hooks)
        raise sc.InvalidError(f"the loss enters saved_tensors_hooks{_line_of_call()}, but compiled gradients are of "
                              "the tensors as they are; leave it out")

    for holder, name, value in before:
        setattr(holder, name, enter if holder is Hooks else seeding(name, value))
    return before


def _function_of(frame: types.FrameType) -> types.FunctionType | None:
    """The function that a frame runs: by its name, where it was called or defined, or else by its code."""
    code, caller = frame.f_code, frame.f_back
    first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    if not code.co_argcount + code.co_kwonlyargcount:
        return None
    places = [frame.f_globals, caller.f_locals if caller else {}, *(vars(kind) for kind in type(first).__mro__)]
    for place in places:
        found = inspect.unwrap(place[code.co_name]) if callable(place.get(code.co_name)) else None
        if isinstance(found, types.FunctionType) and found.__code__ is code:
            return found
    return next((each for each in gc.get_referrers(code) if isinstance(each, types.FunctionType)), None)


def place_of_code(code: types.CodeType) -> str:
    return place_of_line(code.co_filename, code.co_firstlineno)


def place_of_line(filename: str, line: int) -> str:
    return f' (File "{filename}", line {line})'


def is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not Absent
    except ValueError:
        return False
