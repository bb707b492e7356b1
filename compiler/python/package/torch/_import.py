"""From a module of PyTorch to functions of a splitcast.Graph."""
import itertools
import re
import warnings

import splitcast as sc
import torch

from splitcast.torch import _ops, _patterns
from splitcast.torch._ops import Missing

TYPES = {
    torch.float32: sc.f32,
    torch.float64: sc.f64,
    torch.bfloat16: sc.bf16,
    torch.float16: sc.f16,
    torch.int32: sc.i32,
    torch.int64: sc.i64,
}


class _WithLoss(torch.nn.Module):
    """What is exported: the loss of the module on a batch."""

    def __init__(self, module, loss):
        super().__init__()
        self.module = module
        self._loss = loss

    def forward(self, **batch):
        return self._loss(self.module, **batch)


def export(module, loss, batch):
    """The graph of `loss(module, **batch)`; dimensions are the batch's."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.export.export(_WithLoss(module, loss), (), kwargs=batch, strict=False)
    except sc.Error:
        raise
    except Exception as error:  # of many kinds, all of which say what of the model cannot be exported
        raise sc.InvalidError("torch.export cannot make a graph of this model: %s: %s\nControl flow that depends on "
                              "values, and shapes that do, have none." % (type(error).__name__, error)) from error


def group_of(name):
    """What is gathered together: a numbered block of a list of modules ("h.0"), else the module that has it."""
    block = re.match(r"(.*?\.\d+)\.", name)
    return block.group(1) if block else name.rpartition(".")[0]


class Importer:
    """One function of a graph, made of an exported program."""

    def __init__(self, graph, program, trainable):
        self.graph = graph
        self.program = program
        self.trainable = trainable  # names
        self.taken = {name[len("module."):] for name in program.graph_signature.inputs_to_parameters.values()}
        self.node = None  # the one that is mapped now
        self.values = {}  # by node
        self.transposes = {}  # of _ops
        self.constants = {}  # values of variables that are made here, by name
        self.missing = []

    # ---- For the functions of _ops ----

    def shape(self):
        """The result's, all of whose dimensions are known."""
        return tuple(int(size) for size in self.node.meta["val"].shape)

    @staticmethod
    def element_type(dtype):
        if dtype not in TYPES:
            raise _ops.Missing("elements of %s; %s are known" % (dtype, ", ".join(str(each) for each in TYPES)))
        return TYPES[dtype]

    @staticmethod
    def torch_type(dtype):
        return next(ours for ours, theirs in TYPES.items() if theirs == dtype)

    def tensor(self, value):
        """A constant as a frozen variable, which is written before the first step; each value once."""
        if not isinstance(value, torch.Tensor):
            return value
        if value.dtype == torch.bool:
            value = value.to(torch.float32)
        for name, other in self.constants.items():
            if other.dtype == value.dtype and other.shape == value.shape and torch.equal(other, value):
                break
        else:
            name = next(name for name in ("constant.%d" % number for number in itertools.count())
                        if name not in self.constants and name not in self.taken)
            self.constants[name] = value
        return self.graph.variable(name, tuple(value.shape), sc.Init.zeros(), dtype=self.element_type(value.dtype),
                                   trainable=False)

    def scalar_or_tensor(self, value):
        """A constant of one element as a number, others as tensors."""
        if isinstance(value, torch.Tensor) and value.dim() == 0:
            return value.item()
        return self.tensor(value)

    # ---- The walk ----

    def run(self, inputs):
        """The loss, of graph tensors by the batch's names. Raises InvalidError with all that is missing."""
        self._require_one_result()
        self._define_arguments(inputs)
        loss = None
        for node in self.program.graph.nodes:
            if node.op == "get_attr":  # a graph within the graph
                self.values[node] = _Unknown
            elif node.op == "call_function":
                self.values[node] = self._call(node)
            elif node.op == "output":
                loss = self.values[node.args[0][0]]
        if self.missing:
            raise sc.InvalidError("this model needs what Splitcast does not have:\n  " + "\n  ".join(self.missing))
        if not _ops.is_tensor(loss) or loss.shape != ():
            raise sc.InvalidError("the loss is %r; it must be a tensor of no dimensions that depends on the batch" %
                                  (getattr(loss, "shape", loss),))
        return loss

    def _require_one_result(self):
        results = [each.kind.name for each in self.program.graph_signature.output_specs]
        if "BUFFER_MUTATION" in results:
            raise sc.InvalidError("the model changes its buffers (%s) in forward, which a step does not" % ", ".join(
                self.program.graph_signature.buffers_to_mutate.values()))
        if results != ["USER_OUTPUT"]:
            raise sc.InvalidError("the loss has %d values; it must be one tensor" % len(results))

    def _define_arguments(self, inputs):
        signature = self.program.graph_signature
        state = dict(self.program.state_dict)
        names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
                 **signature.inputs_to_lifted_tensor_constants}
        parameters = set(signature.inputs_to_parameters)
        given = dict(zip(signature.user_inputs, inputs.values()))
        for node in self.program.graph.nodes:
            if node.op != "placeholder":
                continue
            name = names.get(node.name)
            if name is None:
                self.values[node] = given[node.name]
            elif node.name in parameters and not node.users:
                continue  # which the loss does not depend on
            elif node.name in parameters:
                name = name[len("module."):]
                value = state["module." + name]
                self.values[node] = self.graph.variable(name, tuple(value.shape), sc.Init.zeros(),
                                                        dtype=self.element_type(value.dtype), group=group_of(name),
                                                        trainable=name in self.trainable)
            else:
                value = state.get(name, self.program.constants.get(name))
                self.values[node] = value.detach().clone()

    def _call(self, node):
        self.node = node
        arguments = torch.fx.node.map_arg(node.args, lambda each: self.values[each])
        keywords = torch.fx.node.map_arg(dict(node.kwargs), lambda each: self.values[each])
        function = _ops.OPS.get(str(node.target))
        if any(self.values[each] is _Unknown for each in node.all_input_nodes):
            if function is None:
                self._note(node, "no mapping")
            return _Unknown
        wrong = self._wrong_in_place(node) or self._random_constant(node)
        if wrong:
            self._note(node, wrong)
            return _Unknown
        if not any(_holds_tensor(self.values[each]) for each in node.all_input_nodes):
            return node.target(*arguments, **keywords)  # a constant, which PyTorch computes
        if function is None:
            self._note(node, "no mapping")
            return _Unknown
        for find, apply in _patterns.PATTERNS:
            of = find(node)
            if of is not None:
                return apply(self.values[of])
        try:
            return self._valid(function(self, *arguments, **keywords))
        except (_ops.Missing, TypeError, ValueError, IndexError) as missing:
            if isinstance(missing, sc.Error):
                raise
            self._note(node, str(missing).split("\n")[0])
            return _Unknown

    def _valid(self, value):
        """The value; or the graph's errors, of which the last is this op's."""
        for each in value if isinstance(value, list) else [value]:
            if _ops.is_tensor(each) and not each.is_valid:
                self.graph.text()
        return value

    def _wrong_in_place(self, node):
        """An op that changes its operand is one that makes another, where nothing else can see the difference."""
        schema = getattr(node.target, "_schema", None)
        if schema is None or not schema.is_mutable:
            return None
        changed = node.args[0]
        if not isinstance(changed, torch.fx.Node):
            return "in place on several tensors at once"
        if changed.op == "placeholder":
            return None if changed.name in self.program.graph_signature.inputs_to_lifted_tensor_constants else (
                "it changes %s in place" % changed.name)
        if not _holds_tensor(self.values[changed]):
            return None  # of constants, which PyTorch computes as it always does
        makes_views = any(each.alias_info is not None for each in changed.target._schema.returns) if hasattr(
            changed.target, "_schema") else True
        if len(changed.users) > 1 or makes_views:
            return "in place on what is used elsewhere, too, or is part of something else"
        return None

    def _random_constant(self, node):
        """One value for all steps is not what a random one means; dropout, of tensors, has its own."""
        tags = getattr(node.target, "tags", [])
        if torch.Tag.nondeterministic_seeded in tags and not any(
                _holds_tensor(self.values[each]) for each in node.all_input_nodes):
            return "random numbers that are no dropout"
        return None

    def _note(self, node, why):
        line = "%s: %s%s" % (node.target, why, _place_of(node))
        if line not in self.missing:
            self.missing.append(line)


class _Unknown:
    """What follows from something that is missing."""


def _holds_tensor(value):
    return _ops.is_tensor(value) or isinstance(value, (list, tuple)) and any(_holds_tensor(each) for each in value)


def _place_of(node):
    """The innermost line outside of PyTorch that made the node."""
    lines = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines() if line.strip()[:6] == "File \""]
    lines = [line for line in lines if "/torch/" not in line]
    return " (%s)" % lines[-1] if lines else ""
