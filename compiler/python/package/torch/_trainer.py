"""splitcast.torch.compile and the Trainer that it returns."""
import hashlib

import numpy as np
import splitcast as sc
import torch

from splitcast.torch import _import
from splitcast.torch._state import Watched

OLDEST = (2, 6)  # the oldest supported version of PyTorch


def compile(module, loss, example_inputs, optimizer, *, enable_zero=None, mesh=None, whole_batch=False, evaluate=True,
            policies=None, **step_options):
    """Compiles the training of `module` for this rank. All ranks must call it with the same arguments.

    loss: a function of the module and of the batch's tensors by name that returns the mean over the batch, such as
      `lambda model, x, labels: F.cross_entropy(model(x), labels)`; or a dict of tensors with it as "loss", of which
      Trainer.evaluate can return the others.
    example_inputs: a dict of tensors with this rank's rows, along the first dimension. The rows of all ranks, in the
      order of ranks, are the global batch; ranks must share it evenly, where the first ranks may have one row more.
      With accumulate=k they must share each of the k micro-batches so: micro-batch i has the i-th part of each rank's
      rows, in the order of ranks, and the global batch is one micro-batch after the other. With whole_batch=True, the
      tensors here and in step() are the global batch. A tensor without dimensions (a temperature, say) is not split:
      all ranks must give the same value, and step() takes a number, too.
    optimizer: a splitcast.Optimizer, or a torch.optim.SGD, Adam, AdamW, RMSprop or Adagrad, whose hyperparameters and
      parameter groups are read. A scheduler of PyTorch may change its learning rates from step to step.
    enable_zero: a stage, or options as in Graph.compile.
    mesh: the axes of ranks, the first of which splits the batch's rows; by default {"dp": size()}. Ranks that differ
      only along other axes have the same rows.
    evaluate: whether to compile a function for Trainer.evaluate, too.
    policies: how ZeRO treats groups of variables: options as in Graph.group, by the group's name ("transformer.h.0", or
      "transformer.h" for all of its blocks).
    step_options: options of Graph.minimize: clip_norm, schedule, accumulate, ...

    Raises splitcast.InvalidError if PyTorch is too old, if the model cannot be exported or needs ops that are not
    supported (all of them are named with their lines), or if models or batches differ between ranks.
    """
    _require_version()
    _require_unwrapped(module)
    graph = sc.Graph(mesh)
    shares = next(iter(mesh.values())) if mesh else sc.size()
    batch = _global_batch(example_inputs, whole_batch, shares, step_options.get("accumulate"))
    trainable = {name for name, parameter in module.named_parameters(remove_duplicate=False) if parameter.requires_grad}
    modes = {part: part.training for part in module.modules()}
    constants, changed = {}, set()
    try:
        for function in ("train", "evaluate") if evaluate else ("train",):
            if function == "evaluate":
                module.eval()
            elif not module.training:  # a module in training may have parts in evaluation mode, which is kept
                module.train()
            program = _import.export(module, loss, batch, outputs=function == "evaluate")
            importer = _import.Importer(graph, program, trainable, changed)
            importer.constants = constants
            graph.function(function)
            result = importer.run({name: graph.input(name, _import.input_type(value.dtype), tuple(value.shape),
                                                     sc.split(0) if value.dim() else sc.broadcast())
                                   for name, value in batch.items()})
            changed = importer.changed
            if function == "train":
                default, groups, decays, rates = _optimizer_of(_variables_of(module, graph.variable_names), optimizer)
                rates = _rates_to_follow(rates, optimizer, step_options)
                graph.minimize(_with_decay(result, decays, importer.parameters_with_gradients(), step_options), default,
                               groups=groups, **step_options)
            graph.output("loss", result)
            for name, (value, _) in importer.outputs.items():
                graph.output(name, value)
    except _import.Missing as missing:
        raise sc.InvalidError(str(missing)) from missing
    finally:
        for part, mode in modes.items():
            part.training = mode
    groups = {_import.group_of(name) for name in _variables_of(module, graph.variable_names).parameters}
    for name, policy in (policies or {}).items():
        _require_group(name, groups)
        graph.group(name, policy)
    session = graph.compile(enable_zero=enable_zero)
    outputs = {name: dtype for name, (_, dtype) in importer.outputs.items()}
    _require_rows_of_outputs(session, outputs)
    trainer = Trainer(graph, session, module, whole_batch, batch, outputs,
                      Watched(module, optimizer, rates))
    trainer._begin(module, constants)
    return trainer


class Trainer:
    """A model that is trained, on this rank. All ranks must call the same methods in the same order."""

    def __init__(self, graph, session, module, whole_batch, inputs, outputs, watched):
        self._graph = graph
        self._watched = watched
        self.session = session
        self._whole = whole_batch
        self._inputs = inputs  # with the shapes of the global batch
        self._outputs = outputs  # the types of what evaluate() gives beside the loss, by name
        self._rows = {function: {name: of["shape" if whole_batch else "local_shape"][:1]
                                 for name, of in session.inputs(function).items()} for function in session.functions}
        self._types = {function: {name: of["dtype"] for name, of in session.outputs(function).items()}
                       for function in session.functions}
        self._variables = _variables_of(module, session.variables)
        self._state = {name: value.detach() for name, value in module.state_dict().items()}

    def step(self, batch):
        """Takes one step on a batch, a dict like example_inputs; returns the mean loss of the global batch.

        The model's and the optimizer's numbers are those of compile(); if one has changed, this raises InvalidError. But
        the learning rates of an optimizer of PyTorch are those that it has now, on all ranks; after session.load() they
        are the file's until they change.
        """
        self._watched.require_unchanged()
        rates = self._watched.changed_rates()
        if rates:
            sc.agree_alike(repr(sorted(rates.items())), "the learning rates of the optimizer")
        for variable, rate in rates.items():
            self.session.write(variable, np.float32(rate))
        self._watched.note_rates()
        return float(self._run("train", batch, ["loss"])[0])

    def evaluate(self, batch, outputs=False):
        """Returns the loss of a batch in evaluation mode, without changing anything.

        It is not computed in micro-batches: ranks share all of its rows evenly, in the order of ranks. With
        outputs=True it returns (the loss, the other tensors of the dict that the loss function returns, by name): of a
        tensor whose first dimension is that of the batch, this rank's rows; one that ranks do not share is whole.
        """
        if "evaluate" not in self.session.functions:
            raise sc.InvalidError("the model was compiled with evaluate=False; leave it out of compile() to evaluate")
        loss, *others = self._run("evaluate", batch, ["loss"] + list(self._outputs))
        if not outputs:
            return float(loss)
        return float(loss), {name: value.to(dtype) for value, (name, dtype) in zip(others, self._outputs.items())}

    def _run(self, function, batch, results):
        """The results of these names, as tensors. Those of the session are valid until its next run."""
        _require_names(batch, "the batch")
        missing = [name for name in self._inputs if name not in batch]
        if missing:
            raise sc.InvalidError("the batch has no %s; it needs %s" % (", ".join(missing), ", ".join(self._inputs)))
        arrays = {name: self._array_of(function, name, value) for name, value in batch.items()}
        found = self.session.run(function, whole=self._whole, **arrays)
        return [_from_array(found[name].copy(), self._types[function][name]) for name in results]

    def _array_of(self, function, name, value):
        example = self._inputs.get(name)
        if example is not None and not example.dim() and isinstance(value, (bool, int, float)):
            value = torch.tensor(value, dtype=example.dtype)
        if example is not None and example.dim():
            self._require_rows(function, name, tuple(getattr(value, "shape", ())))
        return _to_array(value) if isinstance(value, torch.Tensor) else value

    def _require_rows(self, function, name, shape):
        """Checks the number of rows; the session checks what else there is of a shape."""
        rows, of_step = [self._rows[each][name][0] for each in (function, "train")]
        if not shape or shape[0] == rows:
            return
        text = "the batch has %d rows of input '%s' on this rank; %s needs %d" % (
            shape[0], name, {"train": "step"}.get(function, function), rows)
        if shape[0] == of_step:
            raise sc.InvalidError("%s: ranks share all rows of its batch evenly, not those of each micro-batch; give "
                                  "it as many, or compile with whole_batch=True or with a number of rows that ranks "
                                  "times accumulate divides" % text)
        raise sc.InvalidError("%s, as compile() was given. A last batch of fewer rows can be filled up with rows whose "
                              "labels are -100, which cross_entropy ignores, or left out (drop_last=True of a "
                              "DataLoader). With compile(whole_batch=True) ranks give the whole batch and need not "
                              "share it" % text)

    def state_dict(self):
        """The state dict of the module, of whole tensors. All ranks must call it.

        Entries that steps cannot change have the values that were given. Tied entries are one tensor.
        """
        values = {name: _from_array(self.session.read(name), self.session.variables[name][0]).to(of.dtype)
                  for name, of in self._variables.parameters.items()}
        return {name: values[self._variables.names[name]] if name in self._variables.names else value
                for name, value in self._state.items()}

    def load_state_dict(self, state):
        """Sets all entries that steps can change. All ranks must call it with the same state.

        A missing entry, or one with another shape or type, is an error. Other names are ignored.
        """
        changing = {name: of for name, of in self._variables.names.items() if name in self._state}
        missing = sorted(set(changing) - set(state))
        if missing:
            raise sc.InvalidError("the state dict has no %s; it must have all entries that steps can change" %
                                  ", ".join(missing))
        values = {}
        for of in self._variables.parameters:
            names = [name for name, variable in changing.items() if variable == of]
            if names:
                values[of] = of if of in names else names[0]
        for name in values.values():  # all of them before the first is set
            given, wanted = [(of[name].dtype, tuple(of[name].shape)) for of in (state, self._state)]
            if given != wanted:
                raise sc.InvalidError("entry %s of the state dict is %s %s; it must be %s %s" % ((name,) + given + wanted))
        arrays = {of: _as_held(state[name]) for of, name in values.items()}
        for of, array in arrays.items():
            self.session.write(of, array)

    def report(self, function="train"):
        """The bytes of memory and of each collective, known before the first step: see Session.report."""
        return self.session.report(function)

    def ir(self, level="global"):
        """The MLIR of a level: "global", before ZeRO is applied, or "plan", the plan of this rank."""
        texts = {"global": self._graph.text, "plan": self.session.plan}
        if level not in texts:
            raise sc.InvalidError("level is '%s'; it must be global or plan" % level)
        return texts[level]()

    def _write(self, name, value):
        self.session.write(name, _as_held(value))

    def _begin(self, module, constants):
        digest = hashlib.sha256()
        for name, value in list(module.state_dict().items()) + list(constants.items()):
            digest.update(("%s %s %s" % (name, value.dtype, tuple(value.shape))).encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        try:
            sc.agree_alike("SHA-256 %s" % digest.hexdigest()[:16], "parameters of the model")
        except sc.Error as error:
            if "different parameters" not in str(error):  # another rank has ended, say
                raise
            raise type(error)("%s\nCall torch.manual_seed with the same number on all ranks before the model is made, "
                              "or load the same state dict into it." % error) from error
        for name, parameter in self._variables.parameters.items():
            self._write(name, parameter)
        for name, value in constants.items():
            self._write(name, value)


class _Variables:
    """The parameters that the loss depends on and the buffers that steps change: a tied one is a single variable."""

    def __init__(self, parameters, names, of_module):
        self.of_module = of_module  # all parameters of the module
        self.parameters = parameters  # parameters and buffers by the variable's name
        self.names = names  # the variable's name by each name of its parameter or buffer


def _variables_of(module, known):
    """Finds the parameters and buffers among the variables `known`, which may have others."""
    named = dict(module.named_parameters(remove_duplicate=False))
    named.update(module.named_buffers(remove_duplicate=False))
    parameters = {name: parameter for name, parameter in named.items() if name in known}
    of = {id(parameter): name for name, parameter in parameters.items()}
    return _Variables(parameters, {name: of[id(parameter)] for name, parameter in named.items() if id(parameter) in of},
                      list(module.parameters()))


def _as_held(tensor):
    """The array of a variable, which holds booleans as f32."""
    return _to_array(tensor.to(torch.float32) if tensor.dtype == torch.bool else tensor)


def _to_array(tensor):
    """A NumPy array, without a copy if the tensor is on the CPU. NumPy has no bf16: its bits are given as uint16."""
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bool:
        tensor = tensor.to(torch.int32)
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def _from_array(array, dtype):
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if dtype == sc.bf16 else tensor


def _require_version():
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < OLDEST:
        raise sc.InvalidError("PyTorch is %s; splitcast.torch needs %d.%d or newer" % ((torch.__version__,) + OLDEST))


def _require_names(batch, what):
    if not hasattr(batch, "items"):
        raise sc.InvalidError("%s is a %s; it must be a dict of tensors by the names of the loss's parameters, such as "
                              "{\"x\": x, \"labels\": labels}" % (what, type(batch).__name__))


def _require_rows_of_outputs(session, names):
    """Checks that ranks have whole rows of the outputs: another layout would follow from the model's last ops."""
    for name in names:
        of = session.outputs("evaluate")[name]
        if of["local_shape"][1:] != of["shape"][1:]:
            raise sc.InvalidError("output '%s' %s is split between ranks along another dimension than the first; "
                                  "return it with the batch's rows first" % (name, list(of["shape"])))


def _require_unwrapped(module):
    if isinstance(module, (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)):
        raise sc.InvalidError("the model is wrapped in %s, but Splitcast itself adds up the gradients of ranks; give "
                              "model.module, and the optimizer its parameters" % type(module).__name__)


def _require_group(name, groups):
    """Checks that there is a group of this name, or one within it."""
    if not any(each == name or each.startswith(name + ".") for each in groups):
        raise sc.InvalidError("policies= has the group '%s', which the model does not have; its groups are %s, and the "
                              "modules that they are in" % (name, ", ".join("'%s'" % each for each in sorted(groups))))


def _require_input(name, value):
    if name in ("function", "whole"):
        raise sc.InvalidError("an example input is named '%s', which is a keyword of Session.run; rename it" % name)
    if not isinstance(value, torch.Tensor):
        raise sc.InvalidError("example input '%s' is a %s; it must be a tensor whose first dimension is that of the "
                              "batch, or one without dimensions" % (name, type(value).__name__))
    if value.dtype not in _import.TYPES:
        raise sc.InvalidError("example input '%s' has elements of %s; inputs can have %s: convert it, such as by "
                              ".float() or .long()" % (name, value.dtype, ", ".join(map(str, _import.TYPES))))


def _global_batch(example, whole_batch, shares, accumulate):
    """Zeros with the shapes and types of the global batch. Checks that ranks share its rows evenly, in so many shares."""
    _require_names(example, "example_inputs")
    accumulate = accumulate if isinstance(accumulate, int) and accumulate > 0 else 1  # minimize() refuses others
    for name, value in example.items():
        _require_input(name, value)
    if whole_batch:
        return {name: torch.zeros_like(value, device="cpu") for name, value in example.items()}
    batch = {}
    for name, value in example.items():
        sc.agree_alike("%s %d dimensions %s" % (value.dtype, value.dim(), list(value.shape[1:])),
                       "types or rows of example input '%s'" % name)
        rows = _rows_of_all(name, len(value), shares, accumulate) if value.dim() else None
        batch[name] = torch.zeros(() if rows is None else (rows,) + tuple(value.shape[1:]), dtype=value.dtype)
    return batch


def _rows_of_all(name, count, shares, accumulate):
    """The rows that all ranks have of an example input. Each must have its share of each micro-batch."""
    rows = [int(text) for text in sc.exchange(str(count), "rows of example input '%s'" % name)]
    same = len(rows) // shares  # so many ranks have the same share
    total = sum(rows[::same])
    if total % accumulate:
        raise sc.InvalidError("ranks have %s rows of example input '%s', %d in all; accumulate=%d does not divide them "
                              "into equal micro-batches" % (rows, name, total, accumulate))
    least, more = divmod(total // accumulate, shares)
    even = [accumulate * (least + (rank // same < more)) for rank in range(len(rows))]
    if rows != even:
        micro = "" if accumulate == 1 else " of each of the %d micro-batches" % accumulate
        raise sc.InvalidError("ranks have %s rows of example input '%s'; to share %d rows%s evenly they must have %s" %
                              (rows, name, total // accumulate, micro, even))
    return total


# ---- Optimizers ----


def _refuse(group, kind, *names):
    """Raises InvalidError if the group has one of these hyperparameters."""
    given = [name for name in names if group.get(name)]
    if given:
        raise sc.InvalidError("torch.optim.%s has %s, which splitcast.torch does not support; leave it out" % (
            kind, " and ".join("%s=%s" % (name, group[name]) for name in given)))


def _sgd(group):
    _refuse(group, "SGD", "dampening", "maximize")
    if not group["momentum"]:
        return sc.Sgd(lr=float(group["lr"]))
    return (sc.Nesterov if group["nesterov"] else sc.Momentum)(lr=float(group["lr"]), momentum=group["momentum"])


def _adam(of):

    def made(group):
        _refuse(group, of.__name__, "amsgrad", "maximize")
        numbers = dict(lr=float(group["lr"]), beta1=float(group["betas"][0]), beta2=float(group["betas"][1]),
                       epsilon=group["eps"])
        return of(weight_decay=group["weight_decay"], **numbers) if of is sc.AdamW else of(**numbers)

    return made


def _rmsprop(group):
    _refuse(group, "RMSprop", "centered", "maximize")
    return sc.RmsProp(lr=float(group["lr"]), alpha=group["alpha"], epsilon=group["eps"], momentum=group["momentum"])


def _adagrad(group):
    _refuse(group, "Adagrad", "lr_decay", "initial_accumulator_value", "maximize")
    return sc.Adagrad(lr=float(group["lr"]), epsilon=group["eps"])


READ = {torch.optim.SGD: _sgd, torch.optim.Adam: _adam(sc.Adam), torch.optim.AdamW: _adam(sc.AdamW),
        torch.optim.RMSprop: _rmsprop, torch.optim.Adagrad: _adagrad}


def _decay_of(optimizer, group):
    """The weight_decay that is added to the gradient: that of AdamW is not, which its sc.AdamW applies.

    Adam does as AdamW does where it is told to by decoupled_weight_decay, of newer versions of PyTorch.
    """
    if type(optimizer) is torch.optim.AdamW:
        return 0.0
    _refuse(group, type(optimizer).__name__, "decoupled_weight_decay")
    return float(group["weight_decay"])


def _with_decay(loss, decays, parameters, options):
    """The loss that is minimized: it has decay / 2 times the squares of parameters added, whose gradient is what
    PyTorch adds to the gradient. `decays`: by the variable's name."""
    clips = [name for name in ("clip_norm", "clip_value") if options.get(name) is not None]
    if decays and clips:
        raise sc.InvalidError("%s together with weight_decay of this optimizer is not supported: it would clip what "
                              "weight_decay adds to the gradient, too; use torch.optim.AdamW, or leave one out" %
                              clips[0])
    total = loss
    for name, decay in decays.items():
        if name in parameters:
            squares = sc.sum(parameters[name] * parameters[name]) * (decay / 2)
            total = total + (squares if squares.dtype == loss.dtype else sc.cast(squares, loss.dtype))
    return total


def _optimizer_of(variables, optimizer):
    """(the default splitcast.Optimizer, a ParameterGroup for each further parameter group of the optimizer, the decays
    that are added to gradients, by the variable's name, the variable of each parameter group's learning rate)."""
    if isinstance(optimizer, sc.Optimizer):
        return optimizer, [], {}, {}
    if type(optimizer) not in READ:
        raise sc.InvalidError("the optimizer is a %s; it must be a splitcast.Optimizer or one of %s" %
                              (type(optimizer).__name__, ", ".join("torch.optim." + each.__name__ for each in READ)))
    known = {id(parameter) for parameter in variables.of_module}
    if any(id(parameter) not in known for group in optimizer.param_groups for parameter in group["params"]):
        raise sc.InvalidError("the optimizer has parameters that the module does not have; add them to the module")
    if any(float(state.get("step", 1)) for state in optimizer.state.values()):  # Adagrad has a state from the start
        raise sc.InvalidError("the optimizer has taken steps, but its state is not read; create a new one")
    trained = {id(parameter): name for name, parameter in variables.parameters.items() if parameter.requires_grad}
    groups, decays, rates = [], {}, {}
    for number, group in enumerate(optimizer.param_groups):
        members = [trained.pop(id(parameter)) for parameter in group["params"] if id(parameter) in trained]
        rates[number] = None
        if members:
            rates[number] = "optimizer.%slearning_rate" % ("group%d." % len(groups) if groups else "")
            groups.append((READ[type(optimizer)](group), members))
            decay = _decay_of(optimizer, group)
            decays.update({name: decay for name in members if decay})
    if trained or not groups:
        raise sc.InvalidError("the optimizer does not have %s; freeze them with requires_grad_(False), or add them" %
                              (", ".join(trained.values()) or "any parameter that the loss depends on"))
    return groups[0][0], [sc.ParameterGroup("group%d" % number, members, made)
                          for number, (made, members) in enumerate(groups) if number > 0], decays, rates


def _rates_to_follow(rates, optimizer, step_options):
    """Those learning rates that the optimizer's scheduler may change: all or, with schedule=, none."""
    if step_options.get("schedule") is None:
        return rates
    if any("initial_lr" in group for group in getattr(optimizer, "param_groups", [])):
        raise sc.InvalidError("the optimizer has a learning-rate scheduler, and there is a schedule=; leave one out")
    return {}
