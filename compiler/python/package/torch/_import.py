"""Imports a PyTorch module as functions of a splitcast.Graph."""
import itertools
import re
import traceback
import warnings

import splitcast as sc
import torch
import torch.utils._pytree as pytree

from splitcast.torch import _patterns, _replaced, _state, ops
from splitcast.torch.ops import Missing

TYPES = {
    torch.bool: sc.f32,  # as 0 or 1
    torch.float32: sc.f32,
    torch.float64: sc.f64,
    torch.bfloat16: sc.bf16,
    torch.float16: sc.f16,
    torch.int32: sc.i32,
    torch.int64: sc.i64,
}


REPLACED = {"WeightNorm": "weight_norm", "SpectralNorm": "spectral_norm"}  # hooks, and the functions that add them
OF_VALUES = r"aten\.(_local_scalar_dense|item|nonzero|masked_select|unique|_unique2)\."  # their values decide sizes
SAVED = torch.ops.aten.alias_copy.default  # see _WithLoss
GRAD_MODE = "wrap_with_set_grad_enabled"  # the op that holds an inner graph, of torch.no_grad() or enable_grad()


class _WithLoss(torch.nn.Module):
    """The module that is exported: it computes the loss of `module` on a batch.

    Changes that the exported graph would leave out are errors, such as to an attribute that is not a buffer.
    """

    def __init__(self, module, loss, note, twice=False, outputs=False):
        super().__init__()
        self._outputs = outputs  # whether to return the tensors of a dict beside its loss, too
        self.module = module
        self._note = note  # called with the names of the attributes that the module sets to tensors
        self._loss = loss
        self._twice = twice  # whether the loss is computed again when these are there, with a SAVED op for each tensor

    def forward(self, **batch):
        held = _state.Held(self.module)
        try:
            result = self._computed(batch)
            saved = held.saved()
            self._note([name for name, _, _ in saved])
            if self._twice:
                for _, holder, key in saved:
                    holder[key] = pytree.tree_map_only(torch.Tensor, SAVED, holder[key])
                result = self._computed(batch)
        finally:
            held.restore()
        return result

    def _computed(self, batch):
        parts = list(self.module.named_modules())
        buffers = {(name, key): value for name, part in parts for key, value in part._buffers.items()}
        with _replaced.replaced():
            result = self._chosen(self._loss(self.module, **batch))
        for name, part in parts:
            for key, value in list(part._buffers.items()):
                before = buffers.get((name, key))
                if before is not None and value is not before:  # assigned: the graph only sees changes in place
                    with torch.no_grad():
                        before.copy_(value)
                    part._buffers[key] = before
        return result


    def _chosen(self, result):
        if not isinstance(result, dict):
            return result
        if "loss" not in result:
            raise sc.InvalidError("the loss function returns a dict with %s; it must have 'loss'" %
                                  (", ".join("'%s'" % name for name in result) or "nothing"))
        tensors = {name: value for name, value in result.items() if isinstance(value, torch.Tensor)}
        return tensors if self._outputs else result["loss"]


def _require_no_hooks(module):
    for name, parameter in module.named_parameters():
        if parameter._backward_hooks or parameter._post_accumulate_grad_hooks:
            raise sc.InvalidError("parameter '%s' has a gradient hook, which would not be called; remove it" % name)
    for name, part in module.named_modules():
        of = "part '%s', a %s," % (name, type(part).__name__)
        if part._backward_hooks or part._backward_pre_hooks:
            raise sc.InvalidError("%s has a backward hook, which would not be called; remove it" % of)
        for hook in part._forward_pre_hooks.values():
            kind = type(hook).__name__
            if kind in REPLACED:
                raise sc.InvalidError(
                    "%s has torch.nn.utils.%s, which sets the weight outside of the exported graph; use "
                    "torch.nn.utils.parametrizations.%s" % (of, REPLACED[kind], REPLACED[kind]))


def export(module, loss, batch, outputs=False):
    """Exports the graph of `loss(module, **batch)`, for the shapes of this batch.

    outputs: whether the graph has the other tensors of a loss that returns a dict, too.
    """
    _require_no_hooks(module)
    try:
        with warnings.catch_warnings(), _replaced.quiet():
            warnings.simplefilter("ignore")
            saved = []
            made = _WithLoss(module, loss, saved.extend, outputs=outputs)
            program = torch.export.export(made, (), kwargs=batch, strict=False)
            if saved:
                steps = _WithLoss(module, loss, lambda names: None, twice=True)
                _require_unread(torch.export.export(steps, (), kwargs=batch, strict=False), saved)
            _erase_checks(program)
            if _changes_parts(program) or _has_unmapped(program):
                program = _functional(program)
                _erase_checks(program)  # of sizes that depend on values, which PyTorch adds
            return program
    except sc.Error:
        raise
    except Exception as error:  # many types; each message says what in the model cannot be exported
        raise sc.InvalidError(_cause_of(error)) from error


def _cause_of(error):
    """What cannot be exported and where, without PyTorch's advice, which is about exporting."""
    advice = r"\n\s*\n|\n(?:For more information|The following call|To fix)|\s*\((?:unhinted|Size-like)"
    text = re.split(advice, str(error))[0]
    lines = [frame for frame in traceback.extract_tb(error.__traceback__)
             if "/torch/" not in frame.filename and not frame.filename.startswith("<")]
    place = " (File \"%s\", line %d, in %s)" % (lines[-1].filename, lines[-1].lineno, lines[-1].name) if lines else ""
    cure = ""
    if "ataDependent" in type(error).__name__ or "DynamicOutputShape" in type(error).__name__:
        cure = "\nA value decides which ops follow or how large a tensor is, but a graph has the same ones in every step; " \
               "use torch.where, masks that are multiplied, or numbers that the module holds."
    elif _computes_gradients(error):
        cure = "\nGradients that the loss computes itself, as by torch.autograd.grad or torch.func.jacrev, are not " \
               "supported but for simple ones; torch.func.jvp is."
    return "torch.export cannot make a graph of this model: %s: %s%s%s" % (
        type(error).__name__, text.strip(), place, cure)


def _computes_gradients(error):
    """Whether the loss seems to compute gradients: the error comes from such a function, or is about what one keeps."""
    frames = traceback.extract_tb(error.__traceback__)
    return "fake tensor in the exported program constant" in str(error) or "functorch tensor" in str(error) or any(
        frame.filename.endswith("_functorch/eager_transforms.py") for frame in frames)


def _require_unread(program, names):
    """Checks that what one step saves does not reach the loss of the next one. `program` is that of two steps."""
    constants = set(program.graph_signature.inputs_to_lifted_tensor_constants)
    buffers = program.graph_signature.inputs_to_buffers
    constants |= {node.name for node in program.graph.nodes if node.name in buffers and
                  not any(_changes(user) is node for user in node.users)}
    depends, carries = set(), set()  # nodes that depend on what steps change; on such a tensor that was saved
    for node in program.graph.nodes:
        is_changing = node.op == "placeholder" and node.name not in constants
        if is_changing or any(each in depends for each in node.all_input_nodes):
            depends.add(node)
        if node in depends and node.target is SAVED or any(each in carries for each in node.all_input_nodes):
            carries.add(node)
        results = node.all_input_nodes if node.op == "output" else []
        if any(each in carries for each in results):
            raise sc.InvalidError("the model saves %s in one step and reads it in the next, but it is not part of the "
                                  "exported graph; make it a buffer" % " or ".join(names))


def input_type(dtype):
    """The element type of a graph's input: booleans are given as integers."""
    return sc.i32 if dtype == torch.bool else Importer.element_type(dtype)


# ---- In place ----


def _changes(node):
    """The operand that an op changes in place, or None."""
    schema = getattr(node.target, "_schema", None)
    return node.args[0] if node.op == "call_function" and schema is not None and schema.is_mutable else None


def _makes_views(node):
    schema = getattr(node.target, "_schema", None)
    return schema is None or any(each.alias_info is not None for each in schema.returns)


def _buffers_of(program):
    """The names of buffers in the module, by the name of the graph's argument."""
    return {argument: name[len("module."):]
            for argument, name in program.graph_signature.inputs_to_buffers.items()}


def _changes_parts(program):
    """Whether a change in place is visible to other nodes, because the tensor has other users or is a view."""
    buffers = _buffers_of(program)
    constants = program.graph_signature.inputs_to_lifted_tensor_constants
    depends = set()  # nodes that depend on inputs or parameters
    for node in program.graph.nodes:
        if str(node.target) == GRAD_MODE and _changes_anything(program, node):
            return True
        if node.op == "placeholder":
            if node.name not in constants:
                depends.add(node)
        elif any(each in depends for each in node.all_input_nodes):
            depends.add(node)
        changed = _changes(node)
        if changed is None or str(node.target) == "aten.batch_norm.default":
            continue
        if not isinstance(changed, torch.fx.Node):
            return True
        if changed.op == "placeholder":
            if changed.name in buffers and len(changed.users) > 1:
                return True
        elif node in depends and (len(changed.users) > 1 or _makes_views(changed)):
            return True
    return False


def _is_float(node):
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point and "lift_fresh" not in str(node.target)


def _changes_anything(program, node):
    """Whether the inner graph of a GRAD_MODE node changes anything in place, or has an inner graph itself."""
    body = getattr(program.graph_module, node.args[1].target).graph
    return any(_changes(each) is not None or str(each.target) == GRAD_MODE for each in body.nodes)


def _functional(program):
    """The same program with ops that change nothing in place, and with PyTorch's decompositions of ops without mapping.

    run_decompositions() inlines inner graphs, and those of no_grad() would then have gradients. So their results are
    detached first.
    """
    for node in list(program.graph.nodes):
        if str(node.target) == "aten.detach_.default" and node.args[0].op != "get_attr" and _is_float(node.args[0]):
            raise sc.InvalidError("the model calls detach_() and changes parts of tensors in place; use detach()")
        if str(node.target) != GRAD_MODE or node.args[0]:
            continue
        for part in list(node.users):
            with program.graph.inserting_after(part):
                detached = program.graph.call_function(torch.ops.aten.detach.default, (part,))
            detached.meta.update(part.meta)
            part.replace_all_uses_with(detached, delete_user_cb=lambda user, made=detached: user is not made)
    program.graph_module.recompile()
    decompositions = torch.export.default_decompositions()
    return program.run_decompositions({of: how for of, how in decompositions.items() if str(of) not in ops.OPS})


def _has_unmapped(program):
    """Whether there are ops without a mapping, in inner graphs, too."""
    graphs = [part.graph for part in program.graph_module.modules() if isinstance(part, torch.fx.GraphModule)]
    return any(node.op == "call_function" and str(node.target) not in ops.OPS and str(node.target) != GRAD_MODE
               for graph in graphs for node in graph.nodes)


def _erase_checks(program):
    """Erases the nodes that only check values, such as those of distributions, and what nothing else uses then."""
    checks = r"aten\._assert_(async|scalar|tensor_metadata)\.|aten\.sym_constrain_range"
    for part in program.graph_module.modules():
        if not isinstance(part, torch.fx.GraphModule):
            continue
        left = [node for node in part.graph.nodes if not node.users and re.match(checks, str(node.target))]
        while left:
            node = left.pop()
            operands = node.all_input_nodes
            for each in operands:
                each.users.setdefault(node)  # torch.export may have left it out, and erase_node() needs it
            part.graph.erase_node(node)
            left += [each for each in operands if each not in left and each.op == "call_function" and not each.users and
                     _changes(each) is None]
        part.recompile()


def _with_gradients(program):
    """The nodes that the loss has gradients of in PyTorch, even if they are 0."""
    without = r"aten\.(detach_?|(zeros|ones|full|empty)_like|new_(zeros|ones|full|empty))\."
    left, found = list(next(node for node in program.graph.nodes if node.op == "output").all_input_nodes), set()
    while left:
        node = left.pop()
        value = node.meta.get("val")
        is_whole = isinstance(value, torch.Tensor) and not value.dtype.is_floating_point
        if node in found or is_whole or re.match(without, str(node.target)) or (
                str(node.target) == GRAD_MODE and not node.args[0]):
            continue
        found.add(node)
        left += node.all_input_nodes
    return found


def group_of(name):
    """The group of a variable: the numbered block of a module list that it is in ("h.0"), else its module."""
    block = re.match(r"(.*?\.\d+)\.", name)
    return block.group(1) if block else name.rpartition(".")[0]


class Importer:
    """Adds one function to a graph, from an exported program."""

    def __init__(self, graph, program, trainable, changed=()):
        self.graph = graph
        self.program = program
        self.changed = set(changed)  # names of buffers that steps change; run() adds those of this program
        self.buffers = {}  # their names, by node
        self.assigned = {}  # their values after the step, by name
        self.trainable = trainable  # names of parameters
        self.taken = {name[len("module."):] for name in {**program.graph_signature.inputs_to_parameters,
                                                         **program.graph_signature.inputs_to_buffers}.values()}
        self.node = None  # the node that is being mapped
        self.values = {}  # by node
        self.transposes = {}  # used by ops.shapes.transposed()
        self.constants = {}  # values of the variables that tensor() creates, by name
        self.outputs = {}  # (the value, its type in PyTorch) of each output beside the loss, by name
        self.missing = []  # an error line for each node that could not be mapped

    def parameters_with_gradients(self):
        """The variables that the loss has gradients of, by name, as tensors of the current function."""
        names = self.program.graph_signature.inputs_to_parameters
        return {names[node.name][len("module."):]: self.values[node] for node in _with_gradients(self.program)
                if node.name in names and node in self.values}

    # ---- Called by the functions of ops/ ----

    def shape(self):
        """The shape of the current node's result."""
        said = self.node.meta["val"]
        if _has_symbols(said):
            raise ops.Missing("the size of its result depends on values")
        return tuple(int(size) for size in said.shape)

    @staticmethod
    def element_type(dtype):
        if dtype not in TYPES:
            raise ops.Missing("elements of %s are not supported, only of %s" % (dtype, ", ".join(map(str, TYPES))))
        return TYPES[dtype]

    @staticmethod
    def torch_type(dtype):
        return next(ours for ours, theirs in TYPES.items() if theirs == dtype and ours != torch.bool)

    def tensor(self, value):
        """A constant as a tensor of the graph: a constant op if all elements are equal, else a frozen variable.

        Variables are written before the first step; equal constants share one.
        """
        if not isinstance(value, torch.Tensor):
            return value
        if value.dtype == torch.bool:
            value = value.to(torch.float32)
        shape = tuple(value.shape)
        for dim, extent in enumerate(shape):  # store a repeated slice once; broadcast_to() then makes each rank's part
            if extent > 1 and bool((value == value.narrow(dim, 0, 1)).all()):
                value = value.narrow(dim, 0, 1)
        if value.numel() == 1 and bool(value == value):
            return self.graph.constant(self.element_type(value.dtype), shape, float(value.item()))
        value = value.contiguous()
        if tuple(value.shape) != shape:
            return sc.broadcast_to(self.tensor(value), shape)
        for name, other in self.constants.items():
            if other.dtype == value.dtype and other.shape == value.shape and torch.equal(other, value):
                break
        else:
            name = next(name for name in ("constant.%d" % number for number in itertools.count())
                        if name not in self.constants and name not in self.taken)
            self.constants[name] = value.clone()  # the tensor may change later
        return self.graph.variable(name, tuple(value.shape), sc.Init.zeros(), dtype=self.element_type(value.dtype),
                                   trainable=False)

    def constant(self, number, dtype):
        """A number as a tensor without dimensions."""
        return self.graph.constant(dtype, (), float(number))

    @staticmethod
    def is_boolean(node):
        """Whether the node's value is a boolean tensor in PyTorch; in the graph it is f32."""
        value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
        return isinstance(value, torch.Tensor) and value.dtype == torch.bool

    def is_boolean_value(self, value, nodes):
        return value.dtype == torch.bool if isinstance(value, torch.Tensor) else any(
            self.is_boolean(node) for node in list(nodes) + [self.node.kwargs.get("attn_mask")])

    def assign(self, node, value):
        """Sets the value of a buffer of the model after the step."""
        self.assigned[self.buffers[node]] = value
        self.values[node] = value  # later ops of the step read the new value

    def scalar_or_tensor(self, value):
        """A constant without dimensions as a number, any other value as a tensor."""
        if isinstance(value, torch.Tensor) and value.dim() == 0:
            return value.item()
        return self.tensor(value)

    # ---- The walk ----

    def run(self, inputs):
        """Adds the function and returns its loss; `inputs`: graph tensors by name.

        Raises InvalidError that lists all ops without a mapping.
        """
        self._require_one_result()
        self._define_arguments(inputs)
        results = self._walk(self.program.graph)
        if self.missing:
            raise sc.InvalidError("this model needs ops that splitcast.torch does not support:\n  " +
                                  "\n  ".join(self.missing))
        loss = self._sort_results(results)
        if not ops.is_tensor(loss) or loss.shape != ():
            raise sc.InvalidError("the loss is %r; it must be a tensor without dimensions that depends on the batch" %
                                  (getattr(loss, "shape", loss),))
        for name, value in self.assigned.items():
            self.graph.assign(name, self.tensor(value))
        return loss

    def _sort_results(self, results):
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

    def _walk(self, graph):
        """Maps the nodes of a graph whose arguments have values, and returns its results."""
        for node in graph.nodes:
            if node.op == "get_attr":  # an inner graph
                self.values[node] = _Unknown
            elif node.op == "call_function":
                self.values[node] = self._call(node)
            elif node.op == "output":
                return torch.fx.node.map_arg(node.args[0], lambda each: self.values[each])
        return []

    def _require_one_result(self):
        results = [each.kind.name for each in self.program.graph_signature.output_specs]
        others = [each for each in self.program.graph_signature.output_specs
                  if each.kind.name not in ("USER_OUTPUT", "BUFFER_MUTATION", "TOKEN")]
        if others:
            raise sc.InvalidError("the model changes %s in forward; only buffers may change" % ", ".join(
                str(each.target) for each in others))
        if results.count("USER_OUTPUT") != 1 and self.program.call_spec.out_spec.type is not dict:
            raise sc.InvalidError("the loss has %d values; it must be one tensor, or a dict with 'loss' and others" %
                                  len(results))

    def _find_changed_buffers(self):
        """Adds the buffers that this program changes to self.changed: they are variables in all functions."""
        buffers = _buffers_of(self.program)
        for each in self.program.graph_signature.output_specs:
            if each.kind.name == "BUFFER_MUTATION":
                self.changed.add(each.target[len("module."):])
        for node in self.program.graph.nodes:
            changed = [_changes(node)]
            if str(node.target) == "aten.batch_norm.default":
                changed = node.args[3:5] if node.args[5] else []
            self.changed |= {buffers[each.name] for each in changed
                             if isinstance(each, torch.fx.Node) and each.name in buffers}

    def _define_arguments(self, inputs):
        signature = self.program.graph_signature
        state = dict(self.program.state_dict)
        constants = {**signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
        buffers = _buffers_of(self.program)
        self._find_changed_buffers()
        given = dict(zip(signature.user_inputs, inputs.values()))
        for node in self.program.graph.nodes:
            if node.op != "placeholder":
                continue
            if node.name in signature.inputs_to_parameters:
                name = signature.inputs_to_parameters[node.name]
                if node.users:  # a parameter without users does not affect the loss
                    self.values[node] = self._variable(name[len("module."):], state[name])
            elif buffers.get(node.name) in self.changed:
                name = buffers[node.name]
                self.buffers[node] = name
                self.values[node] = self._variable(name, state.get("module." + name,
                                                                   self.program.constants.get("module." + name)))
            elif node.name in constants:
                name = constants[node.name]
                self.values[node] = state.get(name, self.program.constants.get(name)).detach().clone()
            else:
                value = given.get(node.name)  # none for a token, which orders PyTorch's checks of values
                self.values[node] = sc.not_equal(value, 0) if self.is_boolean(node) else value

    def _variable(self, name, value):
        if value.dtype not in TYPES:
            raise sc.InvalidError("'%s' has elements of %s, which are not supported, only %s; hold the real and the "
                                  "imaginary part of complex ones" % (name, value.dtype, ", ".join(map(str, TYPES))))
        return self.graph.variable(name, tuple(value.shape), sc.Init.zeros(), dtype=self.element_type(value.dtype),
                                   group=group_of(name), trainable=name in self.trainable)

    def _call(self, node):
        self.node = node
        if str(node.target) == GRAD_MODE:
            return self._graph_within(node)
        arguments = torch.fx.node.map_arg(node.args, lambda each: self.values[each])
        keywords = torch.fx.node.map_arg(dict(node.kwargs), lambda each: self.values[each])
        function = ops.OPS.get(str(node.target))
        if any(self.values[each] is _Unknown for each in node.all_input_nodes):
            if function is None and isinstance(node.target, torch._ops.OpOverload) and "sym_" not in str(node.target):
                self._note(node, "no mapping")  # sizes that follow from an unknown one are not its cause
            return _Unknown
        is_random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", [])
        wrong = self._wrong_in_place(node)
        if wrong:
            self._note(node, wrong)
            return _Unknown
        self._say_sizes(node)
        if not is_random and not any(_holds_tensor(self.values[each]) for each in node.all_input_nodes):
            return node.target(*arguments, **keywords)  # PyTorch computes constants
        if function is None:
            self._note(node, "a value decides a size or an op, but a graph has the same in every step; use torch.where "
                       "or masks that are multiplied" if re.match(OF_VALUES, str(node.target)) else "no mapping")
            return _Unknown
        if _changes(node) in self.buffers and str(node.target) != "aten.batch_norm.default":
            buffer = node.args[0]
            self.assign(buffer, self._valid(function(self, *arguments, **keywords)))
            return self.values[buffer]
        for find, apply in _patterns.PATTERNS:
            of = find(node)
            if of is not None:
                return apply(self.values[of])
        try:
            if not getattr(function, "keeps_constants", False):
                arguments = [self.tensor(each) if isinstance(each, torch.Tensor) else each for each in arguments]
            return self._as_said(node, self._valid(function(self, *arguments, **keywords)))
        except sc.Error as error:
            raise sc.InvalidError("%s: %s%s" % (node.target, error, _place_of(node))) from error
        except (ops.Missing, TypeError, ValueError, IndexError, KeyError, OverflowError, StopIteration) as missing:
            self._note(node, str(missing).split("\n")[0])
            return _Unknown

    def _say_sizes(self, node):
        """Sets the sizes of a result that PyTorch only has symbols for, by those that the operands have here: how many
        elements a constant mask chooses is known now."""
        if not _has_symbols(node.meta.get("val")):
            return
        args, keywords = torch.fx.node.map_arg((node.args, dict(node.kwargs)), lambda each: _on_no_device(
            self.values[each], each.meta.get("val")))
        try:
            node.meta["val"] = node.target(*args, **keywords)
        except (RuntimeError, NotImplementedError, TypeError, ValueError):
            pass  # those that depend on values

    def _as_said(self, node, value):
        """The value; raises Missing unless it has the type and shape that PyTorch says."""
        said = node.meta.get("val")
        if _holds_tensor(value) and _has_symbols(said):  # such as the elements of a constant mask
            said = node.meta["val"] = _on_no_device(value, said)
        for one, other in zip(value, said) if isinstance(value, list) else [(value, said)]:
            if ops.is_tensor(one) and isinstance(other, torch.Tensor) and (
                    one.dtype != self.element_type(other.dtype) or tuple(one.shape) != tuple(other.shape)):
                raise ops.Missing("its result is %s %s here, but %s %s in PyTorch" %
                                  (one.dtype, tuple(one.shape), other.dtype, tuple(other.shape)))
        return value

    def _graph_within(self, node):
        """Maps the inner graph of a GRAD_MODE node; its results have no gradients if it is that of no_grad()."""
        has_gradients, body, *operands = node.args
        graph = getattr(self.program.graph_module, body.target).graph
        for argument, operand in zip([each for each in graph.nodes if each.op == "placeholder"], operands):
            self.values[argument] = self.values[operand] if isinstance(operand, torch.fx.Node) else operand
        results = self._walk(graph)
        if has_gradients:
            return results
        return [sc.stop_gradient(value) if ops.is_tensor(value) and not ops.is_integer(value) else value
                for value in results]

    def _valid(self, value):
        """The value; if it is invalid, raises the graph's errors, the last of which is this op's."""
        for each in value if isinstance(value, list) else [value]:
            if ops.is_tensor(each) and not each.is_valid:
                self.graph.text()
        return value

    def _wrong_in_place(self, node):
        """Why an op in place cannot be mapped like one that makes a new value, or None.

        It can if nothing else sees that the operand changes. export() has rewritten programs in which something does.
        """
        changed = _changes(node)
        if changed is None or str(node.target) == "aten.batch_norm.default":
            return None
        if not isinstance(changed, torch.fx.Node):
            return "changes several tensors in place at once"
        if changed in self.buffers:
            return None
        if changed.op == "placeholder":
            return None if not _holds_tensor(self.values[changed]) else "changes %s in place" % changed.name
        if not _holds_tensor(self.values[changed]) and not any(
                _holds_tensor(self.values[each]) for each in node.all_input_nodes):
            return None  # only constants, which PyTorch computes
        if len(changed.users) > 1 or _makes_views(changed):
            return "changes a tensor in place that is used elsewhere or is a view of another one"
        return None

    def _note(self, node, why):
        line = "%s: %s%s" % (node.target, why, _place_of(node))
        if line not in self.missing:
            self.missing.append(line)


class _Unknown:
    """The value of a node that has no mapping, or that depends on one."""


def _holds_tensor(value):
    return ops.is_tensor(value) or isinstance(value, (list, tuple)) and any(_holds_tensor(each) for each in value)


def _has_symbols(said):
    return any(isinstance(size, torch.SymInt) for each in pytree.tree_leaves(said) if isinstance(each, torch.Tensor)
               for size in each.shape)


def _on_no_device(value, said):
    """Tensors without elements, of the same shapes as `value` and the types that PyTorch says."""
    if isinstance(value, (list, tuple)):
        return [_on_no_device(*pair) for pair in zip(value, said)]
    if ops.is_tensor(value):
        return torch.empty(tuple(value.shape), dtype=said.dtype, device="meta")
    return value.to("meta") if isinstance(value, torch.Tensor) else value


def _place_of(node):
    """Where the node was created, in parentheses: the innermost line outside of PyTorch, else the module's part."""
    lines = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines() if line.strip()[:6] == "File \""]
    lines = [line for line in lines if "/torch/" not in line and "File \"<" not in line]
    if lines:
        return " (%s)" % lines[-1]
    parts = [name for name, _ in (node.meta.get("nn_module_stack") or {}).values() if name]
    return " (in part '%s')" % re.sub(r"^(L\['self'\]\.)?module\.", "", parts[-1]) if parts else " (in the loss)"
