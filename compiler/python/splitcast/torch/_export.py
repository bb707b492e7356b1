"""Exports a PyTorch module and its loss as a graph of ATen's ops without changes in place that matter."""
from __future__ import annotations

import functools
import inspect
import re
import traceback
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import splitcast as sc
import torch
import torch.utils._pytree as pytree
from splitcast.torch import _captured, _causes, _replaced, _state, ops
from splitcast.torch._places import is_of_user, line_of, place_in, place_of
from splitcast.torch._reading import Reading
from splitcast.torch._watches import has_same_bits
from splitcast.torch.ops import ATEN

REPLACED = {"WeightNorm": "weight_norm", "SpectralNorm": "spectral_norm"}  # hooks, and the functions that add them
LITERALS = (ATEN.lift_fresh.default, ATEN.lift_fresh_copy.default)  # the ops of tensors that a function spells out
CHECKS = {ATEN._assert_async, ATEN._assert_scalar, ATEN._assert_tensor_metadata, ATEN.sym_constrain_range,
          ATEN.sym_constrain_range_for_size}  # they compute nothing
BATCH_NORM = ATEN.batch_norm.default
SAVED = ATEN.alias_copy.default  # see _WithLoss
Loss = Callable[..., Any]  # of the module and of the batch's tensors by name: the loss, or a dict that has it
_Setting = tuple[str, _state.Holder | None, Any, str]  # see Held.settings
GRAD_MODE = "wrap_with_set_grad_enabled"  # the op that holds an inner graph, of torch.no_grad() or enable_grad()


class _WithLoss(torch.nn.Module):
    """The module that is exported: it computes the loss of `module` on a batch.

    Changes that the exported graph would leave out are errors, such as to an attribute that is not a buffer.
    """

    def __init__(self, module: torch.nn.Module, loss: Loss, saved: list[str], settings: list[_Setting],
                 reading: Reading | None, twice: bool = False, outputs: bool = False) -> None:
        super().__init__()
        self._outputs = outputs  # whether to return the tensors of a dict beside its loss, too
        self.module = module
        self._saved = saved  # gets the names of the attributes that the module sets to tensors
        # Whether the loss has computed with a tensor that is no variable.
        self._was_read = reading.was_read if reading is not None else lambda tensor: False
        self._settings = settings  # what is set to begin with; gets the texts that the loss sets in place of None
        # A criterion that is a module is no part of the model: what it holds is as other tensors that the loss reads.
        self._loss: Loss = functools.partial(loss) if isinstance(loss, torch.nn.Module) else loss
        self._captured = _captured.AsAttributes(module, reading.used if reading is not None else {})
        self._twice = twice  # whether the loss is computed again when these are there, with a SAVED op for each tensor

    def forward(self, **batch: torch.Tensor) -> Any:
        for _, of, key, text in self._settings:
            if of is not None:
                of[key] = text
        held = _state.Held(self.module, self._was_read)
        try:
            result = self._computed(batch)
            saved = held.saved()
            self._saved.extend(name for name, _, _ in saved)
            self._settings.extend(held.settings())
            if self._twice:
                for _, holder, key in saved:
                    holder[key] = pytree.tree_map_only(torch.Tensor, SAVED, holder[key])
                result = self._computed(batch)
        finally:
            held.restore()
        return result

    def _computed(self, batch: dict[str, torch.Tensor]) -> Any:
        parts = list(self.module.named_modules())
        buffers = {(name, key): value for name, part in parts for key, value in part._buffers.items()}
        with _replaced.replaced(), self._captured:
            result = self._chosen(self._loss(self.module, **batch))
        for name, part in parts:
            for key, value in list(part._buffers.items()):
                before = buffers.get((name, key))
                if value is not None and before is None and (name, key) in buffers:
                    part._buffers[key] = None
                    full = f"{name}.{key}" if name else key
                    raise sc.InvalidError(f"buffer '{full}' is None before the loss is computed and a tensor then; "
                                          "register it with a tensor")
                if before is not None and value is not before:  # assigned: the graph only sees changes in place
                    with torch.no_grad():
                        before.copy_(value)
                    part._buffers[key] = before
        return result


    def _chosen(self, result: Any) -> Any:
        if not isinstance(result, dict):
            return result
        if "loss" not in result:
            names = ", ".join(f"'{name}'" for name in result) or "nothing"
            raise sc.InvalidError(
                f"the loss function returns a dict with {names}; it must have 'loss'{place_of(self._loss)}")
        tensors = {name: value for name, value in result.items() if isinstance(value, torch.Tensor)}
        return tensors if self._outputs else result["loss"]


def _require_no_hooks(module: torch.nn.Module) -> None:
    _state.require_no_backward_hooks(module)
    for name, part in module.named_modules():
        of = f"part '{name}', a {type(part).__name__},"
        for hook in part._forward_pre_hooks.values():
            kind = type(hook).__name__
            if kind in REPLACED:
                raise sc.InvalidError(
                    f"{of} has torch.nn.utils.{REPLACED[kind]}, which sets the weight outside of the exported graph; "
                    f"use torch.nn.utils.parametrizations.{REPLACED[kind]}")


def export(module: torch.nn.Module, loss: Loss, batch: Mapping[str, torch.Tensor],
           outputs: bool = False, reading: Reading | None = None) -> torch.export.ExportedProgram:
    """Exports the graph of `loss(module, **batch)`, for the shapes of this batch.

    outputs: whether the graph has the other tensors of a loss that returns a dict, too. reading: what notes what the
      loss reads and changes outside of the module.
    """
    _require_no_hooks(module)
    _require_names(module, loss, batch)
    _causes.GRADIENTS.clear()
    try:
        with warnings.catch_warnings(), _replaced.quiet():
            warnings.simplefilter("ignore")
            saved: list[str] = []
            settings: list[_Setting] = []
            made = _WithLoss(module, loss, saved, settings, reading, outputs=outputs)
            program = torch.export.export(made, (), kwargs=batch, strict=False)
            if reading is not None:
                settings += [(text, None, None, text) for text in reading.set_texts()]
                reading.settle()
            if settings:
                again = _WithLoss(module, loss, [], list(settings), reading, outputs=outputs)
                _require_same(program, torch.export.export(again, (), kwargs=batch, strict=False), settings)
            if saved:
                steps = _WithLoss(module, loss, [], [], reading, twice=True)
                _require_unread(torch.export.export(steps, (), kwargs=batch, strict=False), saved)
            _require_no_functorch(program)
            _erase_checks(program)
            _require_gradients_of_changes(program)
            _require_buffers_read_from_module(program)
            if _changes_parts(program) or _has_unmapped(program):
                program = _functional(program)
                _erase_checks(program)  # of sizes that depend on values, which PyTorch adds
            return program
    except sc.Error as error:
        place = _place_of(error)
        if not place:
            raise
        raise type(error)(f"{error}{place}") from error
    except Exception as error:  # many types; each message says what in the model cannot be exported
        is_traced = any(text in str(error) for text in (TRACED, CHANGED))
        kind = _causes.TracedTensorError if is_traced else sc.InvalidError
        raise kind(_cause_of(error)) from None  # PyTorch's traceback is hundreds of lines on each rank


def _require_names(module: torch.nn.Module, loss: Loss, batch: Mapping[str, torch.Tensor]) -> None:
    """Checks that the loss function takes the module and the batch's tensors by name."""
    try:
        signature = inspect.signature(loss)
    except (TypeError, ValueError):  # it has none
        return
    try:
        signature.bind(module, **batch)
    except TypeError as error:
        names = ", ".join(f"{name}=" for name in batch)
        raise sc.InvalidError(f"the loss function is called as loss(model, {names}), by the names of example_inputs: "
                              f"{error}{place_of(loss)}") from None


def _require_no_functorch(program: torch.export.ExportedProgram) -> None:
    """Raises InvalidError if running the graph would change the state of PyTorch itself."""
    for node in program.graph.nodes:
        if str(getattr(node.target, "__module__", None)).startswith(("torch._C._functorch", "torch._functorch")):
            raise sc.InvalidError(
                "torch.func of a function is not supported; write the formula of the gradient in the loss, and instead "
                "of torch.func.vmap what is computed for all rows at once" +
                place_in(node))


TRACED, CHANGED = "constant's list", "is mutated in the forward method"  # in PyTorch's errors
_GRADIENTS = "Gradients that the loss computes itself, as by torch.autograd.grad or torch.func.jacrev, are supported " \
             "for parameters and simple models alone; write the formula of the gradient in the loss."


def _cause_of(error: Exception) -> str:
    """What cannot be exported and where, without PyTorch's advice, which is about exporting."""
    advice = r"\n\s*\n|\n(?:For more information|The following call|To fix)|\s*\((?:unhinted|Size-like)"
    text = re.split(advice, str(error))[0]
    cure = ""
    if "ataDependent" in type(error).__name__ or "DynamicOutputShape" in type(error).__name__:
        cure = "\nA value decides which ops follow or how large a tensor is, but a graph has the same ones in every " \
               "step; use torch.where, masks that are multiplied, or numbers that the module holds. What PyTorch " \
               "takes only as a Python number (a rate of dropout, a momentum, label_smoothing, float() of a loss) " \
               "cannot be a tensor: leave it one, and compile again where it changes."
    elif CHANGED in text:
        return "the loss changes a tensor in place that is not part of the exported graph; make it a buffer of the " \
               f"model, or change a copy of it, tensor.clone(){_place_of(error)}"
    elif "expected compiled_fn to be GraphModule" in text:
        return "torch.export cannot make a graph of a model that has a part under two names whose buffers a step " \
               "changes, such as a batch norm twice in one nn.Sequential; give the model that part once, and call it " \
               "twice"
    elif TRACED in text:
        if _causes.GRADIENTS:
            return f"the loss computes gradients itself ({_causes.GRADIENTS[-1]}), of which torch.export cannot make " \
                   f"a graph here. {_GRADIENTS}"
        text = text.split(". ")[0] + "."
        cure = "\nEither a cache, such as functools.lru_cache or a global dict, has kept a tensor that was made as " \
               "the loss was traced: empty it, and compute the loss once before compile(), so that it holds values. " \
               f"Or: {_GRADIENTS}"
    elif _computes_gradients(error):
        cure = f"\n{_GRADIENTS}"
    what = f"{type(error).__name__}: {text.strip()}{_place_of(error)}"
    return f"torch.export cannot make a graph of this model: {what}{cure}"


def _place_of(error: Exception) -> str:
    """The innermost line of the loss and of the model from which an error came, or nothing."""
    lines = [line_of(frame, number) for frame, number in traceback.walk_tb(error.__traceback__) if is_of_user(frame)]
    return f" ({lines[-1]})" if lines else ""


def _computes_gradients(error: Exception) -> bool:
    """Whether the loss seems to compute gradients: the error comes from such a function, or is about what one keeps."""
    frames = traceback.extract_tb(error.__traceback__)
    return "functorch tensor" in str(error) or any(
        frame.filename.endswith("_functorch/eager_transforms.py") for frame in frames)


def _shown(program: torch.export.ExportedProgram) -> list[str]:
    """The graph, those within it, and what its inputs stand for."""
    graphs = [str(part.graph) for part in program.graph_module.modules() if isinstance(part, torch.fx.GraphModule)]
    return [*graphs, *(f"{each.arg} {each.target}" for each in program.graph_signature.input_specs)]


def _is_same(value: object, other: object) -> bool:
    if isinstance(value, torch.Tensor) and isinstance(other, torch.Tensor):
        return value.dtype == other.dtype and value.shape == other.shape and has_same_bits(value, other)
    return type(value) is type(other)


def _require_same(program: torch.export.ExportedProgram, again: torch.export.ExportedProgram,
                  settings: list[_Setting]) -> None:
    """Checks that the step after the first one computes the same, though the first one has set these texts."""
    if _shown(program) != _shown(again) or program.constants.keys() != again.constants.keys() or not all(
            _is_same(value, again.constants[name]) for name, value in program.constants.items()):
        names = " and ".join(dict.fromkeys(name for name, *_ in settings))
        raise sc.InvalidError(f"{names} is None before the loss is computed, which sets it and computes something else "
                              "from then on; set it before compile()")


def _require_unread(program: torch.export.ExportedProgram, names: list[str]) -> None:
    """Checks that what one step saves does not reach the loss of the next one. `program` is that of two steps."""
    constants = set(program.graph_signature.inputs_to_lifted_tensor_constants)
    buffers = program.graph_signature.inputs_to_buffers
    constants |= {node.name for node in program.graph.nodes if node.name in buffers and
                  not any(changes(user) is node for user in node.users)}
    depends, carries = set(), set()  # nodes that depend on what steps change; on such a tensor that was saved
    for node in program.graph.nodes:
        is_changing = node.op == "placeholder" and node.name not in constants
        if is_changing or any(each in depends for each in node.all_input_nodes):
            depends.add(node)
        if (node in depends and node.target is SAVED) or any(each in carries for each in node.all_input_nodes):
            carries.add(node)
        results = node.all_input_nodes if node.op == "output" else []
        if any(each in carries for each in results):
            raise sc.InvalidError(f"the model saves {' or '.join(names)} in one step and reads it in the next, but it "
                                  "is not part of the exported graph; make it a buffer")


# ---- In place ----


def changes(node: torch.fx.Node) -> object:
    """The operand that an op changes in place, or None."""
    schema = getattr(node.target, "_schema", None)
    return node.args[0] if node.op == "call_function" and schema is not None and schema.is_mutable else None


def packet_of(node: torch.fx.Node) -> torch._ops.OpOverloadPacket | None:
    """A node's op without its overload, such as aten.add; None for other functions."""
    packet: torch._ops.OpOverloadPacket | None = getattr(node.target, "overloadpacket", None)
    return packet


def is_random(node: torch.fx.Node) -> bool:
    """Whether an op draws from a generator of PyTorch, such as aten.dropout."""
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", [])


def function_of(node: torch.fx.Node) -> Callable[..., Any]:
    """The op of a node, which computes constants."""
    assert callable(node.target)
    return node.target


def makes_views(node: torch.fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is None or any(each.alias_info is not None for each in schema.returns)


def buffers_of(program: torch.export.ExportedProgram) -> dict[str, str]:
    """The names of buffers in the module, by the name of the graph's argument."""
    return {argument: name[len("module."):]
            for argument, name in program.graph_signature.inputs_to_buffers.items()}


def _depending(program: torch.export.ExportedProgram) -> set[torch.fx.Node]:
    """The nodes that depend on inputs, parameters or buffers. PyTorch computes the others during the import."""
    constants = program.graph_signature.inputs_to_lifted_tensor_constants
    depends: set[torch.fx.Node] = set()
    for node in program.graph.nodes:
        is_placeholder = node.op == "placeholder" and node.name not in constants
        if is_placeholder or any(each in depends for each in node.all_input_nodes):
            depends.add(node)
    return depends


def _changes_parts(program: torch.export.ExportedProgram) -> bool:
    """Whether a change in place is visible to other nodes, because the tensor has other users or is a view."""
    buffers, depends = buffers_of(program), _depending(program)
    for node in program.graph.nodes:
        if str(node.target) == GRAD_MODE and _changes_anything(program, node):
            return True
        changed = changes(node)
        if changed is None or node.target is BATCH_NORM:
            continue
        if not isinstance(changed, torch.fx.Node):
            return True
        if changed.op == "placeholder":
            if changed.name in buffers and len(changed.users) > 1:
                return True
        elif node in depends and (len(changed.users) > 1 or makes_views(changed)):
            return True
    return False


def _is_float(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point and node.target not in LITERALS


def _changes_anything(program: torch.export.ExportedProgram, node: torch.fx.Node) -> bool:
    """Whether the inner graph of a GRAD_MODE node changes anything in place, or has an inner graph itself."""
    return any(changes(each) is not None or str(each.target) == GRAD_MODE for each in graph_in(program, node).nodes)


def graph_in(program: torch.export.ExportedProgram, node: torch.fx.Node) -> torch.fx.Graph:
    """The inner graph of a GRAD_MODE node."""
    body = node.args[1]
    assert isinstance(body, torch.fx.Node)
    graph: torch.fx.Graph = getattr(program.graph_module, str(body.target)).graph
    return graph


def _origin_of(node: torch.fx.Node) -> tuple[torch.fx.Node, torch.fx.Node | None]:
    """The node in whose memory this one's values are, and the last detach() on the way to it."""
    detach = None
    while isinstance(node.target, torch._ops.OpOverload) and node.args and isinstance(node.args[0], torch.fx.Node):
        returned = node.target._schema.returns[0].alias_info if node.target._schema.returns else None
        if returned is None:
            break
        detach = node if node.target is ATEN.detach.default else detach
        node = node.args[0]
    return node, detach


def _require_gradients_of_changes(program: torch.export.ExportedProgram) -> None:
    """Checks that nothing is changed in place behind the back of gradients: within torch.no_grad(), or by detach().
    PyTorch then passes gradients on as if it had not been changed, which a graph without changes does not."""
    parameters, having = program.graph_signature.inputs_to_parameters, set()
    order = {node: number for number, node in enumerate(program.graph.nodes)}

    def require(node: torch.fx.Node, changed: torch.fx.Node, what: str, at: torch.fx.Node) -> None:
        later = [user for user in changed.users if order[user] > order[node]]
        if changed in having and (later or node.users):
            raise sc.InvalidError(f"the loss changes a tensor in place {what}{place_in(at)}, but its gradient is "
                                  "used: PyTorch would pass it on as if nothing had been changed. Write that as "
                                  "y + (changed - y).detach(), or change a copy")

    for node in program.graph.nodes:
        is_stopped = node.target in (ATEN.detach.default, ATEN.detach_.default)
        if str(node.target) == GRAD_MODE and not node.args[0]:
            is_stopped, inner = True, graph_in(program, node)
            outer = dict(zip((each for each in inner.nodes if each.op == "placeholder"), node.args[2:]))
            for each in inner.nodes:
                changed = changes(each)
                root = outer.get(_origin_of(changed)[0]) if isinstance(changed, torch.fx.Node) else None
                if isinstance(root, torch.fx.Node):
                    require(node, _origin_of(root)[0], "within torch.no_grad", each)
        changed = changes(node)
        if isinstance(changed, torch.fx.Node) and node.target is not ATEN.detach_.default:
            root, detach = _origin_of(changed)
            if detach is not None:
                require(node, root, "that it shares by detach()", node)
                if any(each in having for each in node.all_input_nodes if each is not changed):
                    raise sc.InvalidError(
                        "the loss writes a value with a gradient into a tensor that it shares by detach()"
                        f"{place_in(node)}: PyTorch then gives one of the two a gradient, and not the other. Write the "
                        "value's detach(), or write within torch.no_grad()")
        if node.name in parameters or (not is_stopped and any(each in having for each in node.all_input_nodes)):
            having.add(node)


def _require_buffers_read_from_module(program: torch.export.ExportedProgram) -> None:
    """Checks that a buffer that the program changes is read as the module's: others would be as before the step."""
    buffers, signature, changed = buffers_of(program), program.graph_signature, set()
    for node in program.graph.nodes:
        is_norm = node.target is BATCH_NORM and node.args[5]
        for each in node.args[3:5] if is_norm else [changes(node)]:
            root = _origin_of(each)[0] if isinstance(each, torch.fx.Node) else None
            if root is not None and is_norm and root.name in signature.inputs_to_lifted_tensor_constants:
                raise sc.InvalidError(f"the loss changes running statistics{place_in(node)}, but they are not part of "
                                      "the exported graph; read them from the model where they are used")
            if root is not None and root.name in buffers:
                changed.add(buffers[root.name])
    memory = {program.state_dict["module." + name].untyped_storage()._cdata: name for name in changed
              if "module." + name in program.state_dict}
    for node in program.graph.nodes:
        constant = program.constants.get(signature.inputs_to_lifted_tensor_constants.get(node.name, ""))
        if node.users and isinstance(constant, torch.Tensor) and constant.untyped_storage()._cdata in memory:
            name = memory[constant.untyped_storage()._cdata]
            raise sc.InvalidError(f"the loss reads buffer '{name}', which it changes, through a tensor that was taken "
                                  f"from the model before{place_in(next(iter(node.users)))}; read it from the model "
                                  "where it is used")


def _detach(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """Lets the users of a node read detach() of it, but for inner graphs, which say themselves what has gradients."""
    with graph.inserting_after(node):
        detached = graph.call_function(ATEN.detach.default, (node,))
    detached.meta.update(node.meta)
    node.replace_all_uses_with(
        detached, delete_user_cb=lambda user: user is not detached and str(user.target) != GRAD_MODE)


def _functional(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The same program with ops that change nothing in place, and with PyTorch's decompositions of ops without mapping.

    run_decompositions() inlines inner graphs, and those of no_grad() would then have gradients. So what they read of
    the outer graph is detached first, and what they return: what they write into a tensor has no gradient either.
    """
    for node in program.graph.nodes:
        if node.target is ATEN.detach_.default and node.args[0].op != "get_attr" and _is_float(node.args[0]):
            raise sc.InvalidError("the model calls detach_() and changes parts of tensors in place; use detach()")
    graphs = [part for part in program.graph_module.modules() if isinstance(part, torch.fx.GraphModule)]
    for part in graphs:
        for node in part.graph.nodes:
            if _writes_windows(node):
                raise sc.InvalidError(f"the model changes windows in place that unfold() gives{place_in(node)}; "
                                      "torch.export sets the elements that are in none to 0. Change the tensor itself, "
                                      "by slices or an index")
    for outer in graphs:
        for node in list(outer.graph.nodes):
            if str(node.target) != GRAD_MODE or node.args[0]:
                continue
            inner = getattr(outer, str(node.args[1].target)).graph
            for operand in [each for each in inner.nodes if each.op == "placeholder" and _is_float(each)]:
                _detach(inner, operand)
            for part in list(node.users):
                _detach(outer.graph, part)
    for outer in graphs:
        outer.recompile()
    decompositions: Mapping[torch._ops.OperatorBase, Callable[..., Any]] = torch.export.default_decompositions()
    left = {of: how for of, how in decompositions.items() if of not in ops.OPS}
    traces = {node.name: node.meta.get("stack_trace") for part in graphs for node in part.graph.nodes}
    functional: torch.export.ExportedProgram = program.run_decompositions(left)
    for node in functional.graph.nodes:  # those of an inner graph come from PyTorch's code of it: NAME = OP(OPERANDS)
        came_from = re.search(r'"<eval_with_key>.*\n\s*(\w+) = [^\n]*\s*$', node.meta.get("stack_trace") or "")
        if came_from and traces.get(came_from[1]):
            node.meta["stack_trace"] = traces[came_from[1]]
    return functional


def _writes_windows(node: torch.fx.Node) -> bool:
    changed = changes(node)
    while isinstance(changed, torch.fx.Node) and makes_views(changed) and changed.args:
        if changed.target is ATEN.unfold.default:
            return True
        changed = changed.args[0]
    return False


def _has_unmapped(program: torch.export.ExportedProgram) -> bool:
    """Whether there are ops without a mapping that PyTorch does not compute during the import, in inner graphs, too."""
    inner = [part.graph for part in program.graph_module.modules() if isinstance(part, torch.fx.GraphModule)]
    nodes = [node for graph in inner for node in graph.nodes if graph is not program.graph]
    depends = _depending(program)
    nodes += [node for node in program.graph.nodes if node in depends or is_random(node)]
    return any(node.op == "call_function" and node.target not in ops.OPS and str(node.target) != GRAD_MODE
               for node in nodes)


def _erase_checks(program: torch.export.ExportedProgram) -> None:
    """Erases the nodes that only check values, such as those of distributions, and what nothing else uses then."""
    for part in program.graph_module.modules():
        if not isinstance(part, torch.fx.GraphModule):
            continue
        left = [node for node in part.graph.nodes if not node.users and packet_of(node) in CHECKS]
        while left:
            node = left.pop()
            operands = node.all_input_nodes
            for each in operands:
                each.users.setdefault(node)  # torch.export may have left it out, and erase_node() needs it
            part.graph.erase_node(node)
            left += [each for each in operands if each not in left and each.op == "call_function" and not each.users and
                     changes(each) is None]
        part.recompile()


def release(program: torch.export.ExportedProgram) -> None:
    """Forgets the tensors of the user that the program holds, which others can then be seen not to hold."""
    for part in program.graph_module.modules():
        for node in part.graph.nodes if isinstance(part, torch.fx.GraphModule) else ():
            for value in pytree.tree_leaves(node.meta.get("val")):
                if getattr(value, "constant", None) is not None:
                    value.constant = None
    program.constants.clear()
    program.state_dict.clear()
