"""Finds out what a loss changes while it is computed, which a compiled step would not do again."""
from __future__ import annotations

import collections
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from splitcast.torch._contents import (
    OWN,
    SIMPLE,
    Contents,
    attributes_of,
    contents_of,
    differs,
    holds_tensor,
    holds_traced,
)
from splitcast.torch._origins import is_of_users, origin_of_module
from torch._subclasses.fake_tensor import FakeTensor

DEPTH = 6  # of containers and objects in each other
MANY = 1000  # entries of a container, of more of which only the number and the objects are compared
MOST = 20_000  # values that are looked at in all


class _Node:
    """A value as it was. What is below it is a _Node, too, or a simple value."""

    def __init__(self, value: Any, contents: Contents) -> None:
        self.value = value
        self.leaf = contents.leaf
        self.are_attributes = contents.are_attributes
        self.is_known = True  # whether its contents were noted
        self.entries: dict[Any, Any] = {}


class Kept:
    """What values of the program hold before the loss is computed."""

    def __init__(self, module: torch.nn.Module, saves: bool = False,
                 reads: Callable[[object, bool], bool] = lambda key, is_attribute: False,
                 was_read: Callable[[torch.Tensor], bool] = lambda tensor: False) -> None:
        """module: the model, whose buffers may change, since its graph has that. saves: whether new attributes do not
        count, and lists may get tensors: it is the model that saves them. reads: whether the loss reads a key or an
        attribute before it sets it: a tensor that one step leaves there would reach the next. was_read: whether the
        loss has computed with this tensor: if another one is in its place then, the next step would compute with it."""
        self._reads = reads
        self._was_read = was_read
        self._of_model = {id(holder) for part in module.modules() for holder in _holders_of(part)}
        self._known = {id(part) for part in module.modules()}
        self._saves = saves
        self.set_texts: list[str] = []  # names of values that were None and are texts, as of the last changed()
        self._nodes: dict[int, _Node | None] = {}
        self._roots: list[tuple[str, str, Any, Any]] = []

    def note(self, name: str, value: Any, place: str, without: Iterable[str] = ()) -> None:
        """Notes what a value holds now, if it was not noted before. without: attributes that do not count."""
        if id(value) in self._nodes or isinstance(value, SIMPLE):
            return
        node = self._node(value, DEPTH)
        if isinstance(node, _Node):
            for key in without:
                node.entries.pop(key, None)
            self._roots.append((name, place, value, node))

    def changed(self) -> tuple[str, str] | None:
        """The name of a value that is another one now, and where the program has it; None if all are as they were."""
        seen: set[int] = set()
        self.set_texts = []
        for name, place, value, node in self._roots:
            path = self._difference(node, value, seen)
            if path is not None:
                return name + path, place
        return None

    def is_replaced(self, value: object, now: object) -> bool:
        """Whether a value that was noted is another one now, in whose place the program has `now`."""
        node = self._nodes.get(id(value))
        return now is not value and isinstance(node, _Node) and (
            self._is_state(node, now) or self._difference(node, now, set()) is not None)

    def restore(self) -> None:
        """Puts back what was in the place of tensors of the tracing, which have no values."""
        for node in self._nodes.values():
            if isinstance(node, _Node) and node.is_known:
                contents = self._contents(node.value)
                now = contents.entries if contents is not None and len(contents.entries) <= MANY else {}
                left = [key for key, value in now.items() if holds_traced(value) and (
                    key not in node.entries or value is not _value_of(node.entries[key]))]
                if left:
                    _put_back(node, {key: now[key] for key in left})

    # ---- Before ----

    def _node(self, value: Any, depth: int) -> Any:
        if isinstance(value, SIMPLE):
            return value
        if id(value) in self._nodes:
            return self._nodes[id(value)]
        contents = None if isinstance(value, FakeTensor) else self._contents(value)
        if contents is None or depth == 0 or len(self._nodes) >= MOST:
            node = _Node(value, Contents(None, {}))
            node.is_known = False
            return node
        node = self._nodes[id(value)] = _Node(value, contents)
        if len(contents.entries) > MANY:
            node.leaf = [len(contents.entries), *contents.entries.values()]
            return node
        inner = min(depth - 1, 1) if isinstance(value, types.ModuleType) else depth - 1
        for key, each in contents.entries.items():
            node.entries[key] = self._node(each, inner)
        return node

    def _contents(self, value: Any) -> Contents | None:
        """What counts of a value: containers of all kinds, and attributes of users' objects, classes and modules."""
        if isinstance(value, torch.nn.Module):
            held = object.__getattribute__(value, "__dict__")  # which is no read by the loss
            own = {key: each for key, each in held.items() if key not in OWN}
            parts = {} if id(value) in self._known else {**held["_buffers"], **held["_modules"]}
            return Contents(None, {**_of_classes(type(value)), **own, **parts}, True)
        found = contents_of(value)
        if found is not None:
            return found
        if isinstance(value, types.ModuleType):
            is_users = origin_of_module(value) == "user"
            return Contents(None, dict(vars(value)), True) if is_users else None
        if isinstance(value, types.FunctionType):
            return Contents(None, dict(vars(value)), True)
        if isinstance(value, type):
            return Contents(None, _of_classes(value), True) if is_of_users(value) else None
        if is_of_users(type(value)) and (attributes := attributes_of(value)) is not None:
            return Contents(None, {**_of_classes(type(value)), **attributes}, True)
        return None

    # ---- After ----

    def _difference(self, node: Any, now: Any, seen: set[int]) -> str | None:
        """Where the value is another one, as a text to follow its name. Tensors that are saved anew do not count."""
        if not isinstance(node, _Node):
            if node is None and isinstance(now, str):  # a setting that was left to the model
                self.set_texts.append(now)
                return None
            if isinstance(now, SIMPLE):
                return "" if differs(now, node) else None
            return None if node is None or holds_tensor(now) else ""
        if isinstance(node.value, torch.Tensor):  # whether it is another one: see _is_state()
            return "" if node.is_known and now is node.value and now._version != node.leaf else None
        if now is not node.value and (isinstance(now, SIMPLE) or type(now) is not type(node.value)):
            return "" if isinstance(now, SIMPLE) and now is not None and not holds_tensor(node.value) else None
        if id(node) in seen or not node.is_known:
            return None
        seen.add(id(node))
        contents = self._contents(now)
        if contents is None:
            return None
        if isinstance(node.leaf, list):
            after = [len(contents.entries), *contents.entries.values()]
            return None if len(after) == len(node.leaf) and all(
                one is other for one, other in zip(after[1:], node.leaf[1:])) else ""
        if contents.leaf != node.leaf:
            return ""
        return self._entry_that_differs(node, contents.entries, seen)

    def _entry_that_differs(self, node: _Node, now: dict[Any, Any], seen: set[int]) -> str | None:
        for key, value in now.items():
            where = f".{key}" if node.are_attributes else f"[{key!r}]"
            if key not in node.entries:
                if self._counts(node, value) or self._carries(node, key, value) or self._moves(node, value):
                    return where
                continue
            if node.entries[key] is None and self._carries(node, key, value):
                return where
            if not self._is_of_model(node) and self._is_state(node.entries[key], value):
                return where
            path = self._difference(node.entries[key], value, seen)
            if path is not None:
                return where + path
        for key, before in node.entries.items():
            is_read = not self._is_of_model(node) and self._is_state(before, None)
            if key not in now and (is_read or not (isinstance(before, _Node) and (
                    node.are_attributes or holds_tensor(before.value)))):
                return f".{key}" if node.are_attributes else f"[{key!r}]"
        return None

    def _carries(self, node: _Node, key: object, value: Any) -> bool:
        """Whether a tensor that is new at this key reaches the next step. (What the model saves is traced twice.)"""
        return not self._is_of_model(node) and holds_tensor(value) and self._reads(key, node.are_attributes)

    def _is_of_model(self, node: _Node) -> bool:
        return bool({id(node.value), id(getattr(node.value, "__dict__", node.value))} & self._of_model)

    def _is_state(self, before: Any, now: object) -> bool:
        """Whether the loss has computed with tensors of a value that is not there any more. Where it is a container of
        the same kind, its entries tell."""
        if not isinstance(before, _Node) or now is before.value:
            return False
        is_tensor = isinstance(before.value, torch.Tensor)
        return (is_tensor or type(now) is not type(before.value)) and self._has_read(before.value)

    def _has_read(self, value: Any, depth: int = 3) -> bool:
        if isinstance(value, torch.Tensor):
            return self._was_read(value)
        if depth == 0 or not isinstance(value, (dict, list, tuple, collections.deque)):
            return False
        inner = value.values() if isinstance(value, dict) else value
        return any(self._has_read(each, depth - 1) for each in inner)

    def _moves(self, node: _Node, added: Any) -> bool:
        """Whether a tensor that is new behind a list takes the place of the last one, with which the loss computed."""
        if node.are_attributes or not isinstance(node.value, (list, collections.deque)) or not node.entries:
            return False
        last = _value_of(node.entries[len(node.entries) - 1])
        return not self._is_of_model(node) and holds_tensor(added) and self._has_read(last)

    def _counts(self, node: _Node, added: Any) -> bool:
        """Whether what is new in a container or object is a change."""
        if node.are_attributes:
            return isinstance(added, SIMPLE) and not self._saves
        if self._saves:
            return not holds_tensor(added)
        # A tensor of the tracing has no values: a cache that kept it would give it to whoever asks next.
        return not holds_tensor(added) or not isinstance(node.value, Mapping) or _holds_fake(added)


def _holds_fake(value: object) -> bool:
    inner = value if isinstance(value, (list, tuple)) else [value]
    return any(isinstance(each, FakeTensor) for each in inner)


def _value_of(entry: Any) -> Any:
    return entry.value if isinstance(entry, _Node) else entry


def _put_back(node: _Node, left: dict[Any, Any]) -> None:
    """Puts back what a holder had. left: its values now that have tensors of the tracing."""
    holder, before = node.value, {key: _value_of(each) for key, each in node.entries.items()}
    if isinstance(holder, (list, collections.deque)):
        held = list(before.values())
        holder.clear()
        holder.extend(held)
        return
    for key, value in left.items():
        places = _places_of(holder) if node.are_attributes else [holder]
        for place in places:
            if isinstance(place, (dict, collections.UserDict)) and place.get(key) is value:
                is_of_class = key in before and place is not holder and key in _of_classes(type(holder))
                if key in before and not (is_of_class and _of_classes(type(holder))[key] is before[key]):
                    place[key] = before[key]
                else:
                    del place[key]
            elif isinstance(place, type) and vars(place).get(key) is value and key in before:
                setattr(place, key, before[key])
        if node.are_attributes and key in before and getattr(holder, key, None) is value:  # in a slot
            setattr(holder, key, before[key])


def _places_of(holder: Any) -> list[Any]:
    """Where an object may have its attributes: dicts, and the classes that it is of or that it is."""
    own = [vars(holder)] if isinstance(getattr(holder, "__dict__", None), dict) else []
    parts = [own[0]["_buffers"]] if isinstance(holder, torch.nn.Module) else []
    return [*own, *parts, *(holder.__mro__ if isinstance(holder, type) else type(holder).__mro__)]


def _holders_of(part: torch.nn.Module) -> Iterator[object]:
    """The attributes of a part of the model, and one level deeper its dicts, lists and attributes of objects."""
    yield part
    yield vars(part)
    for value in vars(part).values():
        if not isinstance(value, SIMPLE):
            yield value if isinstance(value, (dict, list)) else getattr(value, "__dict__", value)


def _of_classes(kind: type) -> dict[str, Any]:
    """The values of users' classes that an object of this kind has, without functions."""
    found: dict[str, Any] = {}
    for each in kind.__mro__:
        if is_of_users(each):
            for key, value in vars(each).items():
                if not key.startswith("__") and not callable(value) and not isinstance(value, (
                        property, classmethod, staticmethod, types.MemberDescriptorType,
                        types.GetSetDescriptorType)):
                    found.setdefault(key, value)
    return found
