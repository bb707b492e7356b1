"""Imports an exported PyTorch module as functions of a splitcast.Graph."""
from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import splitcast as sc
import torch
import torch.utils._pytree as pytree
from splitcast.torch import _constants, _export, _patterns, _remedies, _sharing, ops
from splitcast.torch._places import calling_from, place_in
from splitcast.torch._watches import place_of
from splitcast.torch.ops.table import INVALID, Operand, Value

TYPES = {
    torch.bool: sc.f32,  # as 0 or 1
    torch.float32: sc.f32,
    torch.float64: sc.f64,
    torch.bfloat16: sc.bf16,
    torch.float16: sc.f16,
    torch.int32: sc.i32,
    torch.int64: sc.i64,
}
MANY = 1 << 16  # elements of a tensor, from which on slices that are equal are worth to be held once
# Ops that give sizes.
OF_SIZES = {ops.ATEN.sym_size, ops.ATEN.sym_numel, ops.ATEN.sym_stride, ops.ATEN.sym_storage_offset} | _export.CHECKS


def input_type(dtype: torch.dtype) -> sc.ElementType:
    """The element type of a graph's input: booleans are given as integers."""
    return sc.i32 if dtype == torch.bool else Importer.element_type(dtype)


def group_of(name: str) -> str:
    """The group of a variable: the numbered block of a module list that it is in ("h.0"), else its module."""
    block = re.match(r"(.*?\.\d+)\.", name)
    return block.group(1) if block else name.rpartition(".")[0]


class Importer:
    """Adds one function to a graph, from an exported program."""

    def __init__(self, graph: sc.Graph, program: torch.export.ExportedProgram, trainable: Iterable[str],
                 changed: Iterable[str] = (), constants: _constants.Constants | None = None,
                 sharing: _sharing.Sharing | None = None, read: Mapping[str, torch.Tensor] | None = None,
                 place: str = "") -> None:
        """constants: the graph's. sharing: which parameters are one. read: other tensors of the user that tracing has
        read, by name. place: where the loss function is, in parentheses."""
        self.place = place
        self.graph = graph
        self.sharing = sharing
        self.read = {place_of(value): name for name, value in (read or {}).items()}
        self.program = program
        self.changed = set(changed)  # names of buffers that steps change; run() adds those of this program
        self.buffers: dict[torch.fx.Node, str] = {}  # their names, by node
        self.assigned: dict[str, Value] = {}  # their values after the step, by name
        self.trainable = trainable  # names of parameters
        self.taken = {name[len("module."):] for name in {**program.graph_signature.inputs_to_parameters,
                                                         **program.graph_signature.inputs_to_buffers}.values()}
        self.node: torch.fx.Node  # the node that is being mapped
        self.values: dict[torch.fx.Node, Any] = {}  # by node
        self.transposes: dict[int, tuple[sc.Tensor, list[int], sc.Tensor]] = {}  # used by ops.shapes.transposed()
        self.constants = constants or _constants.Constants()  # those that tensor() creates
        # By name, (the value, its type in PyTorch) of each output beside the loss.
        self.outputs: dict[str, tuple[sc.Tensor, torch.dtype]] = {}
        self.missing: list[str] = []  # an error line for each node that could not be mapped

    def parameters(self, names: Iterable[str]) -> dict[str, sc.Tensor]:
        """The parameters of these names that this function reads, as its tensors, by the variable's name."""
        read = self.program.graph_signature.inputs_to_parameters
        found = {read[node.name][len("module."):]: value for node, value in self.values.items() if node.name in read}
        return {self._name_of(name): value for name, value in found.items() if name in names}

    # ---- Called by the functions of ops/ ----

    def shape(self) -> tuple[int, ...]:
        """The shape of the current node's result."""
        said = self.node.meta["val"]
        if _has_symbols(said):
            raise ops.Missing("the size of its result depends on values")
        return tuple(int(size) for size in said.shape)

    def result_type(self) -> sc.ElementType:
        """The element type of the current node's result."""
        return self.element_type(self.node.meta["val"].dtype)

    @property
    def target(self) -> Callable[..., Any]:
        """The op of the current node, which computes constants."""
        return _export.function_of(self.node)

    @property
    def args(self) -> tuple[Any, ...]:
        """The current node's arguments, where those that ops compute are nodes."""
        return self.node.args

    @staticmethod
    def element_type(dtype: torch.dtype) -> sc.ElementType:
        if dtype not in TYPES:
            raise ops.Missing(f"elements of {dtype} are not supported, only of {', '.join(map(str, TYPES))}")
        return TYPES[dtype]

    @staticmethod
    def torch_type(dtype: sc.ElementType | None) -> torch.dtype:
        for ours, theirs in TYPES.items():
            if theirs == dtype and ours != torch.bool:
                return ours
        raise ops.Missing(INVALID)

    def tensor(self, value: Value) -> sc.Tensor:
        """A constant as a tensor of the graph: a constant op if all elements are equal, else a frozen variable.

        Variables are written before the first step; equal constants share one.
        """
        if not isinstance(value, torch.Tensor):
            return value
        recipe, value = _constants.recipe_of(value), _constants.plain(value)
        if isinstance(recipe, _constants.Origin) and recipe.variable is not None:
            return self._variable(recipe.variable, value)
        if value.dtype == torch.bool:
            value = value.to(torch.float32)
        shape, narrowed = tuple(value.shape), []
        # Store a repeated slice once; broadcast_to() then makes each rank's part. Slices of what follows the user's
        # tensors may be equal only now, as those of a norm's weight are at first; a mask's take much memory.
        may_narrow = recipe is None or (isinstance(recipe, _constants.Recipe) and value.numel() >= MANY)
        for dim, extent in enumerate(shape):
            if extent > 1 and may_narrow and bool((value == value.narrow(dim, 0, 1)).all()):
                value = value.narrow(dim, 0, 1)
                narrowed.append(dim)
        if value.numel() == 1 and bool(value == value) and recipe is None:
            return self.graph.constant(self.element_type(value.dtype), shape, float(value.item()))
        value = value.contiguous()
        names = (name for name in (f"constant.{number}" for number in itertools.count()) if name not in self.taken)
        name = self.constants.name_of(value, recipe, names, tuple(narrowed))
        held = self.graph.variable(name, tuple(value.shape), sc.Init.zeros(), dtype=self.element_type(value.dtype),
                                   trainable=False)
        return sc.broadcast_to(held, shape) if narrowed else held

    def constant(self, number: float, dtype: sc.ElementType | None) -> sc.Tensor:
        """A number as a tensor without dimensions."""
        if dtype is None:
            raise ops.Missing(INVALID)
        return self.graph.constant(dtype, (), float(number))

    @staticmethod
    def is_boolean(node: object) -> bool:
        """Whether the node's value is a boolean tensor in PyTorch; in the graph it is f32."""
        value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
        return isinstance(value, torch.Tensor) and value.dtype == torch.bool

    def is_boolean_value(self, value: Value, nodes: Iterable[object]) -> bool:
        return value.dtype == torch.bool if isinstance(value, torch.Tensor) else any(
            self.is_boolean(node) for node in list(nodes) + [self.node.kwargs.get("attn_mask")])

    def assign(self, node: torch.fx.Node, value: Value) -> None:
        """Sets the value of a buffer of the model after the step. Raises InvalidError if it is none."""
        if node not in self.buffers:
            raise sc.InvalidError(f"the loss changes a tensor of shape {tuple(node.meta['val'].shape)} that is no "
                                  "buffer of the model; register it as one")
        self.assigned[self.buffers[node]] = value
        self.values[node] = value  # later ops of the step read the new value

    def scalar_or_tensor(self, value: Operand) -> sc.Tensor | float:
        """A constant without dimensions as a number, any other value as a tensor."""
        if isinstance(value, torch.Tensor) and value.dim() == 0 and _constants.recipe_of(value) is None:
            number: float = value.item()
            return number
        return self.tensor(value) if isinstance(value, torch.Tensor) else value

    # ---- The walk ----

    def run(self, inputs: Mapping[str, sc.Tensor]) -> sc.Tensor:
        """Adds the function and returns its loss; `inputs`: graph tensors by name.

        Raises InvalidError that lists all ops without a mapping.
        """
        self._require_one_result()
        self._define_arguments(inputs)
        try:
            results = self._walk(self.program.graph)
        finally:
            calling_from(None)
        if self.missing:
            raise sc.InvalidError("this model needs ops that splitcast.torch does not support:\n  " +
                                  "\n  ".join(self.missing))
        loss = self._sort_results(results)
        if not ops.is_tensor(loss) or loss.shape != ():
            raise sc.InvalidError(
                f"the loss is {getattr(loss, 'shape', loss)!r}; it must be a tensor without dimensions that depends on "
                f"the batch, such as a mean{self.place}")
        for name, value in self.assigned.items():
            self.graph.assign(name, self.tensor(value))
        return loss

    def _sort_results(self, results: Sequence[Any]) -> Any:
        """Notes values of buffers and outputs, and returns the loss."""
        given, nodes = [], []
        for each, value in zip(self.program.graph_signature.output_specs, results):
            if each.kind.name == "BUFFER_MUTATION":
                self.assigned[each.target[len("module."):]] = value
            elif each.kind.name == "USER_OUTPUT":
                given.append(value)
                nodes.append(each.arg.name)
        named = pytree.tree_unflatten(list(zip(given, nodes)), self.program.call_spec.out_spec)
        if not isinstance(named, dict):
            return given[0]
        types = {node.name: node.meta["val"].dtype for node in self.program.graph.nodes if node.name in nodes}
        loss, _ = named.pop("loss")
        self.outputs = {name: (self.tensor(value), types[node]) for name, (value, node) in named.items()}
        return loss

    def _walk(self, graph: torch.fx.Graph) -> Any:
        """Maps the nodes of a graph whose arguments have values, and returns its results."""
        for node in graph.nodes:
            if node.op == "get_attr":  # an inner graph
                self.values[node] = _Unknown
            elif node.op == "call_function":
                calling_from(node)
                self.values[node] = self._call(node)
            elif node.op == "output":
                return torch.fx.node.map_arg(node.args[0], lambda each: self.values[each])
        return []

    def _require_one_result(self) -> None:
        results = [each.kind.name for each in self.program.graph_signature.output_specs]
        others = [each for each in self.program.graph_signature.output_specs
                  if each.kind.name not in ("USER_OUTPUT", "BUFFER_MUTATION", "TOKEN")]
        if others:
            names = ", ".join(str(each.target) for each in others)
            raise sc.InvalidError(f"the model changes {names} in forward; only buffers may change")
        if results.count("USER_OUTPUT") != 1 and self.program.call_spec.out_spec.type is not dict:
            raise sc.InvalidError(
                f"the loss has {len(results)} values; it must be one tensor, or a dict with 'loss' and others"
                f"{self.place}")

    def _find_changed_buffers(self) -> None:
        """Adds the buffers that this program changes to self.changed: they are variables in all functions."""
        buffers = _export.buffers_of(self.program)
        for each in self.program.graph_signature.output_specs:
            if each.kind.name == "BUFFER_MUTATION":
                self.changed.add(each.target[len("module."):])
        for node in self.program.graph.nodes:
            changed: Sequence[object] = [_export.changes(node)]
            if node.target is _export.BATCH_NORM:
                changed = node.args[3:5] if node.args[5] else []
            self.changed |= {buffers[each.name] for each in changed
                             if isinstance(each, torch.fx.Node) and each.name in buffers}

    def _define_arguments(self, inputs: Mapping[str, sc.Tensor]) -> None:
        signature = self.program.graph_signature
        state = dict(self.program.state_dict)
        constants = {**signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
        buffers = _export.buffers_of(self.program)
        self._find_changed_buffers()
        given = dict(zip(signature.user_inputs, inputs.values()))
        for node in self.program.graph.nodes:
            if node.op != "placeholder":
                continue
            if node.name in signature.inputs_to_parameters:
                name = signature.inputs_to_parameters[node.name]
                if node.users:  # a parameter without users does not affect the loss
                    self.values[node] = self._parameter(name[len("module."):], state[name])
            elif buffers.get(node.name) in self.changed:
                name = buffers[node.name]
                self.buffers[node] = name
                self.values[node] = self._variable(name, state.get("module." + name,
                                                                   self.program.constants.get("module." + name)))
            elif node.name in constants:
                self.values[node] = self._constant(node, constants[node.name])
            else:
                value = given.get(node.name)  # none for a token, which orders PyTorch's checks of values
                self.values[node] = sc.not_equal(value, 0) if value is not None and self.is_boolean(node) else value

    def _parameter(self, name: str, value: torch.Tensor) -> sc.Tensor:
        """A parameter as the variable that holds it. One that is frozen may share memory with a trained one."""
        of = self._name_of(name)
        variable = self._variable(of, value)
        return sc.stop_gradient(variable) if of in self.trainable and name not in self.trainable else variable

    def _name_of(self, name: str) -> str:
        return self.sharing.name_of(name) if self.sharing else name

    def _constant(self, node: torch.fx.Node, name: str) -> torch.Tensor | sc.Tensor:
        """The value of a tensor that the steps do not change, or the variable that it shares memory with."""
        state, constants = self.program.state_dict, self.program.constants
        tensor: torch.Tensor = state[name] if name in state else constants[name]
        names = [each[len("module."):] for each in state]
        for each in [self._name_of(each) for each in names if each in self.trainable or each in self.changed]:
            other = state["module." + each]
            if other.untyped_storage()._cdata != tensor.untyped_storage()._cdata:
                continue
            if place_of(other) == place_of(tensor):
                return sc.stop_gradient(self._variable(each, other))
            if _sharing.do_overlap(other, tensor):
                raise sc.InvalidError(
                    f"the loss reads a tensor that shares memory with '{each}' in another shape; read it from the "
                    "module instead")
        is_literal = place_of(tensor) not in self.read and all(
            user.target in _export.LITERALS for user in node.users)
        is_of_module = name.startswith("module.") and "lifted_tensor" not in name
        if is_literal and not is_of_module:
            return tensor.detach().clone()
        said = self.read.get(place_of(tensor)) or (name[len("module."):] if is_of_module else name)
        is_kept = name in state and node.name in self.program.graph_signature.inputs_to_buffers
        origin = self.constants.origin_of(said, tensor.detach(), name[len("module."):] if is_kept else None)
        return _constants.Followed.of(tensor.detach().clone(), origin)

    def _variable(self, name: str, value: torch.Tensor) -> sc.Tensor:
        if value.dtype not in TYPES:
            raise sc.InvalidError(
                f"'{name}' has elements of {value.dtype}, which are not supported, only {', '.join(map(str, TYPES))}; "
                "hold the real and the imaginary part of complex ones")
        return self.graph.variable(name, tuple(value.shape), sc.Init.zeros(), dtype=self.element_type(value.dtype),
                                   group=group_of(name), trainable=name in self.trainable)

    def _call(self, node: torch.fx.Node) -> Any:
        self.node = node
        if str(node.target) == _export.GRAD_MODE:
            return self._graph_within(node)
        arguments: Any = torch.fx.node.map_arg(node.args, lambda each: self.values[each])
        keywords: Any = torch.fx.node.map_arg(dict(node.kwargs), lambda each: self.values[each])
        function = ops.OPS.get(_export.function_of(node))
        if any(self.values[each] is _Unknown for each in node.all_input_nodes):
            if function is None and isinstance(node.target, torch._ops.OpOverload) and (
                    _export.packet_of(node) not in OF_SIZES):
                self._note(node, _remedies.remedy_of(node))  # sizes that follow from an unknown one are not its cause
            return _Unknown
        wrong = self._wrong_in_place(node)
        if wrong:
            self._note(node, wrong)
            return _Unknown
        self._say_sizes(node)
        if not _export.is_random(node) and not any(_holds_tensor(self.values[each]) for each in node.all_input_nodes):
            return _export.function_of(node)(*arguments, **keywords)  # PyTorch computes constants
        if function is None:
            self._note(node, _remedies.remedy_of(node))
            return _Unknown
        buffer = _export.changes(node)
        if isinstance(buffer, torch.fx.Node) and buffer in self.buffers and (
                node.target is not _export.BATCH_NORM):
            value = self._mapped(node, function, arguments, keywords)
            if value is not _Unknown:
                self.assign(buffer, value)
            return value
        for find, apply in _patterns.PATTERNS:
            of = find(node)
            if of is not None:
                return apply(self.values[of])
        return self._mapped(node, function, arguments, keywords)

    def _mapped(self, node: torch.fx.Node, function: ops.Function, arguments: Sequence[Any],
                keywords: Mapping[str, Any]) -> Any:
        """The value that the op's function gives. What it does not support is noted; any other exception but those of
        the graph is a defect of the function, and says so."""
        try:
            if function not in ops.KEEPING:
                arguments = [self.tensor(each) if isinstance(each, torch.Tensor) else each for each in arguments]
            _require_fitting(function, arguments, keywords)
            return self._as_said(node, self._valid(function(self, *arguments, **keywords)))
        except ops.Missing as missing:
            self._note(node, str(missing))
            return _Unknown
        except sc.Error as error:
            raise sc.InvalidError(f"{node.target}: {error}{place_in(node)}") from error
        except Exception as error:
            raise sc.Error(f"splitcast.torch failed at {node.target}{place_in(node)}: {type(error).__name__}: {error}\n"
                           "This is a defect of Splitcast, not of the model; please report it with this text and the "
                           "line of the model") from error

    def _say_sizes(self, node: torch.fx.Node) -> None:
        """Sets the sizes of a result that PyTorch only has symbols for, by those that the operands have here: how many
        elements a constant mask chooses is known now."""
        if not _has_symbols(node.meta.get("val")):
            return
        args, keywords = torch.fx.node.map_arg((node.args, dict(node.kwargs)), lambda each: _on_no_device(
            self.values[each], each.meta.get("val")))
        with contextlib.suppress(RuntimeError, NotImplementedError, TypeError, ValueError):  # it depends on values
            node.meta["val"] = _export.function_of(node)(*args, **keywords)

    def _as_said(self, node: torch.fx.Node, value: Any) -> Any:
        """The value; raises Missing unless it has the type and shape that PyTorch says."""
        said: Any = node.meta.get("val")
        if _holds_tensor(value) and _has_symbols(said):  # such as the elements of a constant mask
            said = node.meta["val"] = _on_no_device(value, said)
        for one, other in zip(value, said) if isinstance(value, list) else [(value, said)]:
            if ops.is_tensor(one) and isinstance(other, torch.Tensor) and (
                    one.dtype != self.element_type(other.dtype) or tuple(one.shape) != tuple(other.shape)):
                raise ops.Missing(
                    f"its result is {one.dtype} {tuple(one.shape)} here, but {other.dtype} {tuple(other.shape)} in "
                    "PyTorch")
        return value

    def _graph_within(self, node: torch.fx.Node) -> Any:
        """Maps the inner graph of such a node; its results have no gradients if it is that of no_grad()."""
        has_gradients, _, *operands = node.args
        graph = _export.graph_in(self.program, node)
        for argument, operand in zip([each for each in graph.nodes if each.op == "placeholder"], operands):
            self.values[argument] = self.values[operand] if isinstance(operand, torch.fx.Node) else operand
        results = self._walk(graph)
        if has_gradients:
            return results
        return [sc.stop_gradient(value) if ops.is_tensor(value) and not ops.is_integer(value) else value
                for value in results]

    def _valid(self, value: Any) -> Any:
        """The value; if it is invalid, raises the graph's errors, the last of which is this op's."""
        for each in value if isinstance(value, list) else [value]:
            if ops.is_tensor(each) and not each.is_valid:
                self.graph.text()
        return value

    def _wrong_in_place(self, node: torch.fx.Node) -> str | None:
        """Why an op in place cannot be mapped like one that makes a new value, or None.

        It can if nothing else sees that the operand changes. export() has rewritten programs in which something does.
        """
        changed = _export.changes(node)
        if changed is None or node.target is _export.BATCH_NORM:
            return None
        if not isinstance(changed, torch.fx.Node):
            return "changes several tensors in place at once"
        if changed in self.buffers:
            return None
        if changed.op == "placeholder":
            return None if not _holds_tensor(self.values[changed]) else f"changes {changed.name} in place"
        if not _holds_tensor(self.values[changed]) and not any(
                _holds_tensor(self.values[each]) for each in node.all_input_nodes):
            return None  # only constants, which PyTorch computes
        if len(changed.users) > 1 or _export.makes_views(changed):
            return "changes a tensor in place that is used elsewhere or is a view of another one"
        return None

    def _note(self, node: torch.fx.Node, why: str) -> None:
        line = f"{node.target}: {why}{place_in(node)}"
        if line not in self.missing:
            self.missing.append(line)


@functools.cache
def _signature_of(function: ops.Function) -> inspect.Signature:
    return inspect.signature(function)


def _require_fitting(function: ops.Function, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Checks that the function has these arguments; some options of ops are left out of it."""
    try:
        _signature_of(function).bind(None, *arguments, **keywords)
    except TypeError as error:
        raise ops.Missing(f"this form of the op is not supported: {error}") from None


class _Unknown:
    """The value of a node that has no mapping, or that depends on one."""


def _holds_tensor(value: object) -> bool:
    return ops.is_tensor(value) or (isinstance(value, (list, tuple)) and any(_holds_tensor(each) for each in value))


def _has_symbols(said: Any) -> bool:
    return any(isinstance(size, torch.SymInt) for each in pytree.tree_leaves(said) if isinstance(each, torch.Tensor)
               for size in each.shape)


def _on_no_device(value: Any, said: Any) -> Any:
    """Tensors without elements, of the same shapes as `value` and the types that PyTorch says."""
    if isinstance(value, (list, tuple)):
        return [_on_no_device(*pair) for pair in zip(value, said)]
    if ops.is_tensor(value):
        return torch.empty(tuple(value.shape), dtype=said.dtype, device="meta")
    return value.to("meta") if isinstance(value, torch.Tensor) else value
