"""Constants of a graph that come from the user's tensors, and how they follow them.

A buffer that steps do not change, a tensor from a closure, the weights of a teacher: the graph holds their values as
variables that no step changes. What PyTorch computes of them during the import (1 / tau, rotary tables) becomes such a
variable, too. An `Origin` is the user's tensor; a `Recipe` is how a constant is computed from origins, so that it can
be computed again when one of them has changed. Where a value itself decides what is in the graph (`.item()`, a mask
that chooses rows), its origins are baked in: a later change of them is an error.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.utils._pytree as pytree
from splitcast.torch._watches import Place, bytes_of, place_of

SMALL = 4096  # elements of a tensor that are compared, where others are compared by which they are
# Functions that look at no element.
OF_SHAPES = {"size", "dim", "numel", "stride", "is_contiguous", "is_floating_point", "is_complex", "storage_offset",
             "__len__", "__get__", "element_size", "ndimension", "is_signed", "nelement", "get_device", "type",
             "untyped_storage", "__repr__", "__format__", "__hash__"}


class Origin:
    """A tensor of the user.

    name: how the user's program calls it. variable: its name among the parameters and buffers of the model, if the
    graph holds it under this name. tensor: the value that the graph has, which shares memory with the user's. is_baked:
    whether it decides what is in the graph.
    """

    def __init__(self, name: str, tensor: torch.Tensor, variable: str | None = None) -> None:
        self.name = name
        self.tensor = tensor
        self.variable = variable
        self.is_baked = False
        self.loaded: torch.Tensor | None = None  # what a file or a state dict has set since, if anything

    @property
    def current(self) -> torch.Tensor:
        return self.tensor if self.loaded is None else self.loaded

    @property
    def origins(self) -> frozenset[Origin]:
        return frozenset((self,))

    def value(self, known: dict[int, Any]) -> torch.Tensor:
        if id(self) not in known:
            known[id(self)] = self.current.detach().cpu().clone()
        value: torch.Tensor = known[id(self)]
        return value


class Recipe:
    """A function of constants, and which of its results is meant if it has several."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any],
                 origins: frozenset[Origin], index: int | None = None) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords
        self.index = index
        self.origins = origins

    def value(self, known: dict[int, Any]) -> torch.Tensor:
        """The value of now. known: values by id, so that each is computed once."""
        if id(self) not in known:
            arguments, keywords = pytree.tree_map_only(
                (Origin, Recipe), lambda each: each.value(known), (self.arguments, self.keywords))
            result = self.function(*arguments, **keywords)
            known[id(self)] = result if self.index is None else result[self.index]
        value: torch.Tensor = known[id(self)]
        return value


class Followed(torch.Tensor):
    """A constant that knows its recipe. What PyTorch computes of it is one, too."""

    recipe: Origin | Recipe

    @classmethod
    def of(cls, value: torch.Tensor, recipe: Origin | Recipe) -> Followed:
        result = torch.Tensor._make_subclass(cls, value.detach())
        result.recipe = recipe
        return result

    @property
    def plain(self) -> torch.Tensor:
        with torch._C.DisableTorchFunctionSubclass():
            return self.as_subclass(torch.Tensor)

    @classmethod
    def __torch_function__(cls, function: Any, kinds: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        keywords = kwargs or {}
        name = getattr(function, "__name__", str(function))
        if name in ("detach_", "detach_.default") and args:  # which would refuse views
            return args[0]
        with torch._C.DisableTorchFunctionSubclass():
            if name in OF_SHAPES:
                return function(*args, **keywords)
            plain_arguments, plain_keywords = pytree.tree_map_only(cls, lambda each: each.plain, (args, keywords))
            result = function(*plain_arguments, **plain_keywords)
        followed = [each for each in pytree.tree_leaves((args, keywords)) if isinstance(each, cls)]
        origins = frozenset().union(*(each.recipe.origins for each in followed))
        if _writes(function, name, keywords) or not _holds_tensors_alone(result):
            bake(origins)
            return result
        arguments, keywords = pytree.tree_map_only(cls, lambda each: each.recipe, (args, keywords))
        if isinstance(result, torch.Tensor):
            return cls.of(result, Recipe(function, arguments, keywords, origins))
        return type(result)(cls.of(each, Recipe(function, arguments, keywords, origins, index))
                            for index, each in enumerate(result)) if type(result) in (list, tuple) else [
                                cls.of(each, Recipe(function, arguments, keywords, origins, index))
                                for index, each in enumerate(result)]


def _writes(function: Any, name: str, keywords: dict[str, Any]) -> bool:
    schema = getattr(function, "_schema", None)
    if schema is not None:
        return bool(schema.is_mutable)
    return name == "__setitem__" or "out" in keywords or (name.endswith("_") and not name.endswith("__")) or (
        name.startswith("__i") and name.endswith("__") and name != "__invert__")


def _holds_tensors_alone(result: object) -> bool:
    if isinstance(result, torch.Tensor):
        return True
    return isinstance(result, (list, tuple)) and bool(result) and all(isinstance(each, torch.Tensor) for each in result)


def bake(origins: Iterable[Origin]) -> None:
    for origin in origins:
        origin.is_baked = True


def plain(value: torch.Tensor) -> torch.Tensor:
    return value.plain if isinstance(value, Followed) else value


def recipe_of(value: torch.Tensor) -> Origin | Recipe | None:
    return value.recipe if isinstance(value, Followed) else None


class Constants:
    """The variables of a graph that hold constants, for all of its functions.

    values: by the variable's name. Equal constants share a variable; those that follow tensors of the user do if they
    are computed in the same way from the same ones: others may be equal now, and not later.
    """

    def __init__(self) -> None:
        self.values: dict[str, torch.Tensor] = {}
        self.recipes: dict[str, Origin | Recipe] = {}
        self._ways: dict[object, int] = {}  # numbers of the ways to compute a constant
        self._known: dict[int, tuple[Origin | Recipe, int]] = {}  # the same by the recipe's id
        self._origins: dict[tuple[Place, str | None], Origin] = {}
        self._narrowed: dict[str, tuple[int, ...]] = {}  # dimensions of which one slice is held

    def origin_of(self, name: str, tensor: torch.Tensor, variable: str | None) -> Origin:
        """The origin of a tensor, which is the same one in all functions of the graph."""
        return self._origins.setdefault((place_of(tensor), variable), Origin(name, tensor, variable))

    def name_of(self, value: torch.Tensor, recipe: Origin | Recipe | None, names: Iterable[str],
                narrowed: tuple[int, ...]) -> str:
        """The variable that holds `value`: an equal one, or else a new one with the first of `names` that is free."""
        for name, other in self.values.items():
            if self._way_of(self.recipes.get(name)) != self._way_of(recipe) or self._narrowed[name] != narrowed:
                continue
            if other.dtype == value.dtype and other.shape == value.shape and torch.equal(other, value):
                return name
        name = next(name for name in names if name not in self.values)
        self.values[name] = value.clone()  # the tensor may change later
        self._narrowed[name] = narrowed
        if recipe is not None:
            self.recipes[name] = recipe
        return name

    def _way_of(self, recipe: Origin | Recipe | None) -> int | None:
        """A number that two recipes have in common if they compute the same of the same tensors."""
        if recipe is None:
            return None
        if id(recipe) not in self._known:
            way: object = id(recipe)
            if isinstance(recipe, Recipe):
                leaves, structure = pytree.tree_flatten((recipe.arguments, recipe.keywords))
                way = (recipe.function, tuple(map(self._part_of, leaves)), repr(structure), recipe.index)
            self._known[id(recipe)] = (recipe, self._ways.setdefault(way, len(self._ways)))
        return self._known[id(recipe)][1]

    def _part_of(self, leaf: object) -> object:
        if isinstance(leaf, (Origin, Recipe)):
            return "recipe", self._way_of(leaf)
        if isinstance(leaf, torch.Tensor):
            is_small = leaf.numel() <= SMALL
            bits = tuple(bytes_of(leaf).tolist()) if is_small else id(leaf)
            return leaf.dtype, leaf.shape, bits
        return type(leaf), repr(leaf)

    def forget(self, name: str) -> None:
        """The graph does not use this variable."""
        self.values.pop(name)
        self.recipes.pop(name, None)

    def origins(self) -> list[Origin]:
        return list(self._origins.values())

    def after(self, changed: frozenset[Origin]) -> dict[str, torch.Tensor] | None:
        """The values of those that depend on origins that have changed; None if the graph cannot hold them: a slice
        that was repeated is not any more."""
        known: dict[int, Any] = {}
        result: dict[str, torch.Tensor] = {}
        for name, recipe in self.recipes.items():
            if not recipe.origins & changed:
                continue
            value = self._held(name, recipe.value(known))
            if value is None:
                return None
            result[name] = value
        return result

    def _held(self, name: str, value: torch.Tensor) -> torch.Tensor | None:
        if value.dtype == torch.bool:
            value = value.to(torch.float32)
        for dim in self._narrowed[name]:
            if not bool((value == value.narrow(dim, 0, 1)).all()):
                return None
            value = value.narrow(dim, 0, 1)
        held = self.values[name]
        return value.contiguous() if value.shape == held.shape and value.dtype == held.dtype else None
