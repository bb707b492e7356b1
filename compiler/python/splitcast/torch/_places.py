"""Where in the user's files an op of the exported graph was called.

PyTorch's own stack traces of nodes have only the functions called `forward`, and so nothing of a loss function.
"""
from __future__ import annotations

import inspect
import re
import sys
import types
from typing import Any

import splitcast as sc
import torch
from splitcast.torch._origins import origin_of, origin_of_code

CREATE_NODE = torch.fx.proxy.TracerBase.create_node


def is_of_user(frame: types.FrameType) -> bool:
    """Whether a frame runs code from outside of this package, Python and PyTorch."""
    return origin_of_code(frame.f_code, frame.f_globals) != "own"


def line_of(frame: types.FrameType, number: int | None = None) -> str:
    """The frame's file and line, as Python writes them. number: of the line, if it is not the one that runs."""
    return f'File "{frame.f_code.co_filename}", line {number or frame.f_lineno}, in {frame.f_code.co_name}'


def _create_node(tracer: torch.fx.proxy.TracerBase, *arguments: Any, **keywords: Any) -> torch.fx.Node:
    node = CREATE_NODE(tracer, *arguments, **keywords)
    lines: list[str] = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_of_user(frame):
            lines.append(line_of(frame))
        frame = frame.f_back
    if lines:
        node.stack_trace = "\n  ".join(reversed(lines))
    return node


def recording() -> list[tuple[Any, str, Any]]:
    """What is replaced while the loss is traced, so that place_in() knows its lines: see _replaced.replaced()."""
    return [(torch.fx.proxy.TracerBase, "create_node", _create_node)]


def place_of(function: object) -> str:
    """Where a function of the user begins, in parentheses; nothing for what is no function of Python."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return f' (File "{code.co_filename}", line {code.co_firstlineno}, in {code.co_name})' if code else ""


def _innermost_of(node: torch.fx.Node) -> tuple[str, str] | None:
    """The file and the rest of the innermost line outside of PyTorch."""
    lines = re.findall(r'File "([^"]+)"(.*)', node.meta.get("stack_trace") or "")
    lines = [(filename, rest) for filename, rest in lines if origin_of(filename) != "own" or filename.startswith("<")]
    return lines[-1] if lines else None


def calling_from(node: torch.fx.Node | None) -> None:
    """Makes the line where the node was created that of the graph's ops from now on; None: the line of compile()."""
    found = _innermost_of(node) if node is not None else None
    number = re.search(r"line (\d+)", found[1]) if found else None
    sc._splitcast._call_from(found[0] if found and number else None, int(number[1]) if number else 0)


def place_in(node: torch.fx.Node) -> str:
    """Where the node was created, in parentheses: the innermost line outside of PyTorch, else the module's part."""
    innermost = _innermost_of(node)
    if innermost:
        return f' (File "{innermost[0]}"{innermost[1].rstrip()})'
    parts = [name for name, _ in (node.meta.get("nn_module_stack") or {}).values() if name]
    part = re.sub(r"^(L\['self'\]\.)?module\.", "", parts[-1]) if parts else ""
    return f" (in part '{part}')" if parts else " (in the loss)"
