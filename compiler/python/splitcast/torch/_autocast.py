"""Functions that autocast reaches only through those that they are made of, which the exported graph does not have."""
from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

import splitcast as sc
import torch
import torch.utils._pytree as pytree

PRODUCTS = {torch.inner, torch.Tensor.inner, torch.tensordot, torch.chain_matmul, torch.linalg.multi_dot,
            torch.matrix_power, torch.Tensor.matrix_power, torch.linalg.matrix_power}


def cast(function: Callable[..., Any], args: tuple[Any, ...],
         keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call as autocast gives them to the products within it.

    Raises InvalidError at an einsum of which not all tensors become operands of a product.
    """
    if not torch.is_autocast_enabled("cpu") or not (function is torch.einsum or function in PRODUCTS):
        return args, keywords
    are_wide = [isinstance(each, torch.Tensor) and each.dtype == torch.float32
                for each in pytree.tree_leaves((args, keywords))]
    if not any(are_wide) or (function is torch.einsum and not _is_product(*args)):
        return args, keywords
    dtype = torch.get_autocast_dtype("cpu")
    given: tuple[tuple[Any, ...], dict[str, Any]] = pytree.tree_map_only(
        torch.Tensor, lambda each: each.to(dtype) if each.dtype == torch.float32 else each, (args, keywords))
    return given


def _is_product(equation: object, *operands: Any) -> bool:
    """Whether an einsum sums over products of two tensors; elementwise, autocast leaves the types as they are."""
    tensors = pytree.tree_leaves(operands)
    if not isinstance(equation, str) or len(tensors) > 2:
        raise sc.InvalidError("the loss computes an einsum of more than two tensors, or without a text, of f32 within "
                              "torch.autocast; compute it from einsums of two tensors, or cast them before")
    left, _, right = equation.replace(" ", "").partition("->")
    letters = [set(each) & set(string.ascii_letters) for each in left.split(",")]
    if len(letters) < 2:
        return False
    if "->" not in equation:
        right = "".join(letter for letter in set(left) if left.count(letter) == 1)
    return bool((letters[0] & letters[1]) - set(right))
