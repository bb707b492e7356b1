"""What a model holds beside parameters and buffers. The graph has it as constants, so that later changes would have no
effect: here they are found, and are errors."""
import types

import splitcast as sc
import torch
import torch.utils._pytree as pytree

OWN = set(vars(torch.nn.Module())) - {"training"}  # PyTorch's attributes of a part, such as its parameters
REBUILT = ("_flat_weights", "_flat_weight_refs")  # lists of parameters that LSTM, GRU and RNN make again in forward
NUMBERS = (bool, int, float)


def holders_of(module):
    """(name, holder) of each dict or list with values of the model: the attributes of its parts, and one level deeper
    the dicts, lists, and attributes of plain objects that are attributes of a part."""
    for name, part in module.named_modules():
        yield name, vars(part)
        for key, value in vars(part).items():
            inner = value if isinstance(value, (dict, list)) else getattr(value, "__dict__", None)
            is_other = isinstance(value, (torch.nn.Module, torch.Tensor, type, types.ModuleType, types.FunctionType))
            is_other = is_other or isinstance(part, torch.nn.RNNBase) and key in REBUILT
            if key not in OWN and isinstance(inner, (dict, list)) and not is_other:
                yield named(name, key), inner


def entries_of(holder):
    return list(enumerate(holder)) if isinstance(holder, list) else [
        (key, value) for key, value in holder.items() if key not in OWN]


def named(*parts):
    return ".".join(str(part) for part in parts if part != "")


def differs(value, before):
    """Whether a number is another one, or is none any more."""
    return value is not before and (type(value) is not type(before) or value != before)


def holds_tensor(value):
    return any(isinstance(each, torch.Tensor) for each in pytree.tree_leaves(value))


class Held:
    """What a model holds before its loss is computed, to see what that changes.

    Numbers must stay. Tensors that the model saves for later, such as maps of attention, belong to the graph's making:
    restore() takes them away again.
    """

    def __init__(self, module):
        self._module = module
        self._before = {}
        self._contents = {}
        for name, holder in holders_of(module):
            self._contents[name] = (holder, holder.copy())
            self._before.update((named(name, key), (value, _version_of(value))) for key, value in entries_of(holder))

    def saved(self):
        """(name, holder, key) of each value with tensors that is new. Raises InvalidError if a number has changed."""
        before, saved = dict(self._before), []
        for name, holder in list(holders_of(self._module)):
            for key, value in entries_of(holder):
                old, version = before.pop(named(name, key), (None, 0))
                if value is not old and isinstance(value, (torch.Tensor, tuple)) and holds_tensor(value):
                    saved.append((named(name, key), holder, key))
                elif isinstance(old, NUMBERS) and differs(value, old) or (
                        _version_of(value) != version if value is old else isinstance(old, torch.Tensor)):
                    raise _changes(named(name, key))
        for name, (old, _) in before.items():
            if isinstance(old, NUMBERS + (torch.Tensor,)):
                raise _changes(name)
        return saved

    def restore(self):
        for name, holder in list(holders_of(self._module)):
            before = self._contents.get(name, (None, None))
            if before[0] is not holder:
                continue
            if isinstance(holder, list):
                holder[:] = before[1]
                continue
            for key, value in entries_of(holder):
                if key in before[1]:
                    holder[key] = before[1][key]
                elif holds_tensor(value):
                    del holder[key]


def _version_of(value):
    return value._version if isinstance(value, torch.Tensor) else 0


def _changes(name):
    return sc.InvalidError("%s changes while the loss is computed, but it is not part of the exported graph; make it a "
                           "buffer" % name)


class Watched:
    """The numbers of a model and of its optimizer as compile() has read them.

    rates: by the number of a parameter group, the variable of its learning rate, which may change; None if the group
    trains nothing.
    """

    def __init__(self, module, optimizer, rates):
        self._parts = [(named(name, key), vars(part), key, value) for name, part in module.named_modules()
                       for key, value in vars(part).items()
                       if isinstance(value, NUMBERS) and key not in OWN and key != "training"]
        self._flags = [(name, parameter, parameter.requires_grad) for name, parameter in module.named_parameters()]
        self._optimizer = optimizer if isinstance(optimizer, torch.optim.Optimizer) else None
        self._groups = _groups_of(self._optimizer)
        self._rates = rates

    def require_unchanged(self):
        for name, holder, key, before in self._parts:
            if differs(holder.get(key), before):
                raise sc.InvalidError("%s is %r, but it was %r when the model was compiled, which the step would still "
                                      "use; make it a buffer that forward changes or an input of the batch, or "
                                      "compile again" % (name, holder.get(key), before))
        for name, parameter, before in self._flags:
            if parameter.requires_grad != before:
                now, then = ("frozen", "trained") if before else ("trained", "frozen")
                raise sc.InvalidError("parameter '%s' is %s, but it was %s when the model was compiled; compile again" %
                                      (name, now, then))
        if self._optimizer is not None:
            self._require_same_groups()

    def changed_rates(self):
        """{variable: learning rate} of the groups whose rate is another than when note_rates() was called last."""
        rates = {variable: (_plain(self._optimizer.param_groups[number]["lr"]), self._groups[number]["lr"])
                 for number, variable in self._rates.items() if variable}
        return {variable: rate for variable, (rate, before) in rates.items() if rate != before}

    def note_rates(self):
        """Takes the optimizer's rates as those of the session, and notes in it, for its scheduler, that there is a
        step."""
        for number in self._rates:
            self._groups[number]["lr"] = _plain(self._optimizer.param_groups[number]["lr"])
        if self._optimizer is not None:
            self._optimizer._opt_called = True

    def _require_same_groups(self):
        groups = self._optimizer.param_groups
        if len(groups) != len(self._groups):
            raise sc.InvalidError("the optimizer has %d parameter groups, but it had %d when the model was compiled; "
                                  "compile again" % (len(groups), len(self._groups)))
        for number, (group, before) in enumerate(zip(groups, self._groups)):
            for key, value in before.items():
                now = _plain(group.get(key))
                if now != value and not (key == "lr" and number in self._rates):
                    raise sc.InvalidError(
                        "%s of group %d of the optimizer is %r, but it was %r when the model was compiled; its values "
                        "are read only then, except learning rates without schedule=; compile again" %
                        (key, number, now, value))


def _groups_of(optimizer):
    """The hyperparameters of each parameter group."""
    return [{key: _plain(value) for key, value in group.items() if key not in ("params", "initial_lr")}
            for group in (optimizer.param_groups if optimizer is not None else [])]


def _plain(value):
    return value.item() if isinstance(value, torch.Tensor) and value.numel() == 1 else value
