"""What compile() and steps refuse, with the full texts: each names the op or the argument, the user's file and line, and
what to do. conftest.py runs it as one rank."""
import splitcast as sc
import splitcast.torch
import torch
import torch.nn as nn
from splitcast.torch import ops

import torch_cases_common as common

X = torch.arange(48.0).view(6, 8)


def compiled(loss, model=None, x=X, **options):
    model = model or nn.Linear(8, 8)
    options.setdefault("optimizer", torch.optim.SGD(model.parameters(), lr=0.1))
    return splitcast.torch.compile(model, loss, {"x": x}, whole_batch=True, **options)


def place_of(loss):
    """How errors name the line of a function of one line."""
    return f'(File "{__file__}", line {loss.__code__.co_firstlineno}, in {loss.__name__})'


# ---- Errors of this package ----
def fails(importer, x):
    return [][x.shape[0]]


def a_converter_that_fails():
    """An exception that a converter does not raise on purpose is a defect, and not a missing op."""
    before, loss = ops.OPS["aten.relu.default"], lambda m, x: m(x).relu().mean()
    ops.OPS["aten.relu.default"] = fails
    try:
        compiled(loss)
    except sc.Error as error:
        expected = (f"splitcast.torch failed at aten.relu.default {place_of(loss)}: IndexError: list index out of range\n"
                    "This is a defect of Splitcast, not of the model; please report it with this text and the line of "
                    "the model")
        is_right = type(error) is sc.Error and isinstance(error.__cause__, IndexError) and str(error) == expected
        return "ok" if is_right else f"raises {type(error).__name__}: {error}"
    finally:
        ops.OPS["aten.relu.default"] = before
    return "is no error"


def a_form_that_is_not_there():
    """Arguments that a converter does not have are a missing form of the op."""
    before, loss = ops.OPS["aten.relu.default"], lambda m, x: m(x).relu().mean()
    ops.OPS["aten.relu.default"] = lambda importer: None
    try:
        compiled(loss)
    except sc.InvalidError as error:
        expected = ("this model needs ops that splitcast.torch does not support:\n  aten.relu.default: this form of the op "
                    f"is not supported: too many positional arguments {place_of(loss)}")
        return "ok" if str(error) == expected else f"raises {error}"
    finally:
        ops.OPS["aten.relu.default"] = before
    return "is no error"


OTHERS = {"a converter that fails": a_converter_that_fails, "a form that is not there": a_form_that_is_not_there}

SUITE = common.suite(common.Cases({}, others=OTHERS))

if __name__ == "__main__":
    SUITE.run()
