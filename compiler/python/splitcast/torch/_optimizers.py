"""What a torch.optim.Optimizer says, in terms of Graph.minimize: rules of groups, decays, and learning rates."""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import splitcast as sc
import torch
from splitcast.torch import _following
from splitcast.torch._state import Rates, require_own_step
from splitcast.torch.ops.table import as_type

Group = Mapping[str, Any]  # a parameter group of an optimizer


class Variables(NamedTuple):
    """The parameters that the loss depends on and the buffers that steps change: a tied one is a single variable.

    tensors: these, by the variable's name. names: the variable's name by each name of its parameter or buffer.
    of_module: all parameters of the module.
    """
    tensors: dict[str, torch.Tensor]
    names: dict[str, str]
    of_module: list[torch.nn.Parameter]


def variables_of(module: torch.nn.Module, known: Collection[str]) -> Variables:
    """Finds the parameters and buffers among the variables `known`, which may have others."""
    named: dict[str, torch.Tensor] = dict(module.named_parameters(remove_duplicate=False))
    named.update(module.named_buffers(remove_duplicate=False))
    names: dict[str, str] = {}
    for together in _following.partition_of(named):
        of = next((each for each in together if each in known), None)
        names.update((name, of) for name in together if of is not None)
    return Variables({name: tensor for name, tensor in named.items() if name in known}, names,
                     list(module.parameters()))


class Rules(NamedTuple):
    """How steps update variables.

    default: the rule of the first parameter group that trains any. groups: those of the others. decays: what is added
    to gradients, by the variable's name. rates: the variable of each parameter group's learning rate.
    """
    default: sc.Optimizer
    groups: list[sc.ParameterGroup]
    decays: dict[str, float]
    rates: Rates


def _refuse(group: Group, kind: str, *names: str) -> None:
    """Raises InvalidError if the group has one of these hyperparameters."""
    given = [name for name in names if group.get(name)]
    if given:
        values = " and ".join(f"{name}={group[name]}" for name in given)
        raise sc.InvalidError(
            f"torch.optim.{kind} has {values}, which splitcast.torch does not support; leave it out")


def _sgd(group: Group) -> sc.Optimizer:
    _refuse(group, "SGD", "dampening", "maximize")
    if not group["momentum"]:
        return sc.Sgd(lr=float(group["lr"]))
    return (sc.Nesterov if group["nesterov"] else sc.Momentum)(lr=float(group["lr"]), momentum=group["momentum"])


def _adam(of: Callable[..., sc.Optimizer]) -> Callable[[Group], sc.Optimizer]:

    def made(group: Group) -> sc.Optimizer:
        _refuse(group, of.__name__, "amsgrad", "maximize")
        numbers = {"lr": float(group["lr"]), "beta1": float(group["betas"][0]), "beta2": float(group["betas"][1]),
                   "epsilon": group["eps"]}
        return of(weight_decay=group["weight_decay"], **numbers) if of is sc.AdamW else of(**numbers)

    return made


def _rmsprop(group: Group) -> sc.Optimizer:
    _refuse(group, "RMSprop", "centered", "maximize")
    return sc.RmsProp(lr=float(group["lr"]), alpha=group["alpha"], epsilon=group["eps"], momentum=group["momentum"])


def _adagrad(group: Group) -> sc.Optimizer:
    _refuse(group, "Adagrad", "lr_decay", "initial_accumulator_value", "maximize")
    return sc.Adagrad(lr=float(group["lr"]), epsilon=group["eps"])


READ: dict[type, Callable[[Group], sc.Optimizer]] = {
    torch.optim.SGD: _sgd,
    torch.optim.Adam: _adam(sc.Adam),
    torch.optim.AdamW: _adam(sc.AdamW),
    torch.optim.RMSprop: _rmsprop,
    torch.optim.Adagrad: _adagrad,
}


def _decay_of(optimizer: torch.optim.Optimizer, group: Group) -> float:
    """The weight_decay that is added to the gradient: that of AdamW is not, which its sc.AdamW applies.

    Adam does as AdamW does where it is told to by decoupled_weight_decay, of newer versions of PyTorch.
    """
    if type(optimizer) is torch.optim.AdamW:
        return 0.0
    _refuse(group, type(optimizer).__name__, "decoupled_weight_decay")
    return float(group["weight_decay"])


def with_decay(loss: sc.Tensor, decays: Mapping[str, float], parameters: Mapping[str, sc.Tensor],
               options: Mapping[str, Any]) -> sc.Tensor:
    """The loss that is minimized: it has decay / 2 times the squares of parameters added, whose gradient is what
    PyTorch adds to the gradient. `decays`: by the variable's name."""
    clips = [name for name in ("clip_norm", "clip_value") if options.get(name) is not None]
    if decays and options.get("gradient_norm"):
        raise sc.InvalidError(
            "gradient_norm together with weight_decay of this optimizer is not supported: it would be the norm of the "
            "gradient with what weight_decay adds to it; use torch.optim.AdamW, or leave one out")
    if decays and clips:
        raise sc.InvalidError(
            f"{clips[0]} together with weight_decay of this optimizer is not supported: it would clip what "
            "weight_decay adds to the gradient, too; use torch.optim.AdamW, or leave one out")
    total = loss
    for name, decay in decays.items():
        if name in parameters:
            squares = sc.sum(parameters[name] * parameters[name]) * (decay / 2)
            total = total + as_type(squares, loss.dtype)
    return total


def trainable_of(module: torch.nn.Module, optimizer: sc.Optimizer | torch.optim.Optimizer,
                 options: Mapping[str, Any]) -> set[str]:
    """The names of the parameters that steps may train: an optimizer of PyTorch may have some of them alone.

    Raises InvalidError if it has, and the norm of gradients is asked for, which users take over all parameters.
    """
    names = {name for name, parameter in module.named_parameters(remove_duplicate=False) if parameter.requires_grad}
    if isinstance(optimizer, sc.Optimizer):
        return names
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    own = {name for name, parameter in module.named_parameters(remove_duplicate=False)
           if name in names and id(parameter) in held}
    norm = next((option for option in ("clip_norm", "gradient_norm") if options.get(option)), None)
    if norm and own != names:
        raise sc.InvalidError(
            f"the optimizer does not have {', '.join(sorted(names - own))}, so {norm} would leave out their gradients; "
            "freeze them with requires_grad_(False), or add them to the optimizer")
    return own


def rules_of(variables: Variables, optimizer: sc.Optimizer | torch.optim.Optimizer, trainable: set[str]) -> Rules:
    """The rules that an optimizer says.

    trainable: the names of parameters that the loss has gradients of; PyTorch's optimizers leave the others alone.
    Raises InvalidError if the optimizer is of another kind, if it has hyperparameters that are not supported, if it has
    other parameters than the model, or if it has taken steps.
    """
    if isinstance(optimizer, sc.Optimizer):
        return Rules(optimizer, [], {}, {})
    _require_readable(optimizer, variables)
    trained = {id(tensor): name for name, tensor in variables.tensors.items()
               if tensor.requires_grad and name in trainable}
    groups: list[tuple[sc.Optimizer, list[str]]] = []
    decays: dict[str, float] = {}
    rates: Rates = {}
    for number, group in enumerate(optimizer.param_groups):
        members = [trained.pop(id(parameter)) for parameter in group["params"] if id(parameter) in trained]
        rates[number] = None
        if members:
            rates[number] = f"optimizer.group{len(groups)}.learning_rate" if groups else "optimizer.learning_rate"
            groups.append((READ[type(optimizer)](group), members))
            decay = _decay_of(optimizer, group)
            decays.update({name: decay for name in members if decay})
    if not groups:
        raise sc.InvalidError("the optimizer does not have any parameter that the loss has a gradient of; give it "
                              "those of the model, and compute the loss from them without detach() and no_grad()")
    others = [sc.ParameterGroup(f"group{number}", [_as_pattern(name) for name in members], rule)
              for number, (rule, members) in enumerate(groups) if number > 0]
    return Rules(groups[0][0], others, decays, rates)


def counts_of(optimizer: object, rates: Rates, variables: Variables, known: Collection[str]) -> dict[str, list[str]]:
    """The state of each parameter whose first updates a count of its group's updates corrects, by the count's name."""
    counts: dict[str, list[str]] = {}
    names = {id(tensor): name for name, tensor in variables.tensors.items()}
    for number, rate in rates.items():
        count = (rate or "").replace("learning_rate", "beta1_power")
        if isinstance(optimizer, torch.optim.Optimizer) and count in known:
            states = [f"{names.get(id(each))}.exp_avg" for each in optimizer.param_groups[number]["params"]]
            counts[count] = [each for each in states if each in known]
    return counts


def _require_readable(optimizer: torch.optim.Optimizer, variables: Variables) -> None:
    """Checks that rules_of() knows this kind of optimizer, that its parameters are the model's, and that it is new."""
    if type(optimizer) not in READ:
        kinds = ", ".join("torch.optim." + each.__name__ for each in READ)
        raise sc.InvalidError(
            f"the optimizer is a {type(optimizer).__name__}; it must be a splitcast.Optimizer or one of {kinds}")
    require_own_step(optimizer)
    known = {id(parameter) for parameter in variables.of_module}
    if any(id(parameter) not in known for group in optimizer.param_groups for parameter in group["params"]):
        raise sc.InvalidError("the optimizer has parameters that the module does not have; add them to the module")
    if any(float(state.get("step", 1)) for state in optimizer.state.values()):  # Adagrad has a state from the start
        raise sc.InvalidError("the optimizer has taken steps, but its state is not read, and cannot be taken over; "
                              "create a new one")


def _as_pattern(name: str) -> str:
    """The pattern that matches this name alone: a star of a name stands for itself."""
    return name.replace("*", "\\*")


def declare_rates(graph: sc.Graph, optimizer: sc.Optimizer | torch.optim.Optimizer, rates: Rates) -> None:
    """Makes the learning rate of a group with parameters in f64 a variable of f64; by themselves they are of f32."""
    if isinstance(optimizer, sc.Optimizer):
        return
    for number, variable in rates.items():
        group = optimizer.param_groups[number]
        if variable and any(parameter.dtype == torch.float64 for parameter in group["params"]):
            graph.variable(variable, (), sc.Init.constant(float(group["lr"])), dtype=sc.f64, group="optimizer",
                           trainable=False)


def rates_to_follow(rates: Rates, optimizer: sc.Optimizer | torch.optim.Optimizer, options: Mapping[str, Any]) -> Rates:
    """Those learning rates that the optimizer's scheduler may change: all or, with schedule=, none."""
    if options.get("schedule") is None:
        return rates
    if any("initial_lr" in group for group in getattr(optimizer, "param_groups", [])):
        raise sc.InvalidError("the optimizer has a learning-rate scheduler, and there is a schedule=; leave one out")
    return {}
