"""What compile() and steps refuse, with the full texts: each names the op or the argument, the user's file and line, and
what to do. conftest.py runs it as one rank."""
import splitcast as sc
import splitcast.torch
import torch
import torch.nn as nn
import torch.nn.functional as F
from splitcast.torch import ops

import torch_cases_common as common

X = torch.arange(48.0).view(6, 8)
AUTOCAST = torch.autocast("cpu", torch.bfloat16)


def compiled(loss, model=None, x=X, **options):
    model = model or nn.Linear(8, 8)
    options.setdefault("optimizer", torch.optim.SGD(model.parameters(), lr=0.1))
    return splitcast.torch.compile(model, loss, {"x": x}, whole_batch=True, **options)


LINE = f"{__file__}:{compiled.__code__.co_firstlineno + 3}"  # of the call of compile()


def place_of(loss):
    """How errors name the line of a function of one line."""
    return f'(File "{__file__}", line {loss.__code__.co_firstlineno}, in {loss.__name__})'


def unknown(op, remedy="write it with other ops, or compute it outside of the step and give it as an input"):
    return needs(op, f"no mapping; {remedy}")


def needs(op, why):
    return f"this model needs ops that splitcast.torch does not support:\n  {op}: {why} {{place}}"


def by_export(why, cure=""):
    return f"torch.export cannot make a graph of this model: {why} {{place}}{cure}"


SIZES = "a value decides a size or an op, but a graph has the same in every step; use torch.where or masks that are multiplied"
NUMBERS = f"{SIZES}, and leave numbers of the batch tensors: .item() and .tolist() take them out of the graph"
SOLVED = "matrices are not decomposed or inverted here; compute that outside of the step and give it as an input"
DECIDES = ("\nA value decides which ops follow or how large a tensor is, but a graph has the same ones in every step; use "
           "torch.where, masks that are multiplied, or numbers that the module holds. What PyTorch takes only as a Python "
           "number (a rate of dropout, a momentum, label_smoothing, float() of a loss) cannot be a tensor: leave it one, and "
           "compile again where it changes.")
TYPES = "torch.bool, torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.int64"

# What a loss of one line does, and the error, where {place} is its file and line.
LOSSES = {
    "erfinv": (lambda m, x: torch.erfinv(m(x)).mean(), unknown("aten.erfinv.default")),
    "lgamma": (lambda m, x: torch.lgamma(m(x)).mean(), unknown("aten.lgamma.default")),
    "lgamma within autocast": (lambda m, x: AUTOCAST(torch.lgamma)(m(x)).mean(), unknown("aten.lgamma.default")),
    "digamma": (lambda m, x: torch.digamma(m(x)).mean(), unknown("aten.digamma.default")),
    "a Bessel function": (lambda m, x: torch.special.i0(m(x)).mean(), unknown("aten.i0.default")),
    "a mode": (lambda m, x: m(x).mode(1)[0].mean(), unknown("aten.mode.default")),
    "the largest so far": (lambda m, x: m(x).cummax(1)[0].mean(), unknown("aten.cummax.default")),
    "samples of a grid": (lambda m, x: F.grid_sample(m(x).view(1, 1, 6, 8), torch.zeros(1, 2, 2, 2)).mean(),
                          unknown("aten.grid_sampler_2d.default")),
    "the k-th value": (lambda m, x: m(x).kthvalue(2, 1)[0].mean(),
                       unknown("aten.kthvalue.default", "take the last of x.topk(k, dim, largest=False)")),
    "a median": (lambda m, x: m(x).median(1)[0].mean(), unknown("aten.median.dim", "take the middle of x.sort(dim)")),
    "products so far": (lambda m, x: m(x).cumprod(1).mean(),
                        unknown("aten.cumprod.default", "of positive numbers it is x.log().cumsum(dim).exp()")),
    "singular values": (lambda m, x: torch.linalg.svdvals(m(x)).mean(), unknown("aten._linalg_svd.default", SOLVED)),
    "an inverse": (lambda m, x: torch.linalg.inv(m(x)[:, :6]).mean(), unknown("aten.linalg_inv_ex.default", SOLVED)),
    "a determinant": (lambda m, x: torch.linalg.det(m(x)[:, :6]).mean(), unknown("aten._linalg_det.default", SOLVED)),
    "the logarithm of a determinant": (lambda m, x: torch.logdet(m(x)[:, :6]).mean(), unknown("aten._linalg_slogdet.default", SOLVED)),
    "a Cholesky factor": (lambda m, x: torch.linalg.cholesky(m(x)[:, :6]).mean(), unknown("aten.linalg_cholesky_ex.default", SOLVED)),
    "a solution": (lambda m, x: torch.linalg.solve(m(x)[:, :6], x).mean(), unknown("aten._linalg_solve_ex.default", SOLVED)),
    "eigenvalues": (lambda m, x: torch.linalg.eigh(m(x)[:, :6])[0].mean(), unknown("aten._linalg_eigh.default", SOLVED)),
    "a QR factor": (lambda m, x: torch.linalg.qr(m(x))[1].mean(), unknown("aten.linalg_qr.default", SOLVED)),
    "a Fourier transform": (lambda m, x: torch.fft.rfft(m(x)).abs().mean(), unknown(
        "aten._fft_r2c.default", "a Fourier transform of fixed length is a product with matrices of sines and cosines")),
    "complex numbers": (lambda m, x: torch.view_as_complex(m(x).view(6, 4, 2)).abs().mean(), unknown(
        "aten.view_as_complex.default", "there are no complex numbers; hold the real and the imaginary part in a dimension")),
    "counts of numbers": (lambda m, x: m(x).mean() + torch.bincount(x.long()[:, 0]).float().mean(), unknown(
        "aten.bincount.default", "compare with each number, and sum: (x[:, None] == torch.arange(n)).sum(0)")),
    "a histogram": (lambda m, x: m(x).mean() + torch.histc(x).mean(), unknown(
        "aten.histc.default", "compare with each number, and sum: (x[:, None] == torch.arange(n)).sum(0)")),
    "buckets": (lambda m, x: m(x).mean() + torch.bucketize(x, torch.arange(4.0)).float().mean(), unknown(
        "aten.bucketize.Tensor", "count the bounds below it: (x[..., None] > bounds).sum(-1)")),
    "a search": (lambda m, x: m(x).mean() + torch.searchsorted(torch.arange(4.0), x).float().mean(), unknown(
        "aten.searchsorted.Tensor", "count the bounds below it: (x[..., None] > bounds).sum(-1)")),
    "random integers": (lambda m, x: (m(x) * torch.randint(0, 2, (8,))).mean(), unknown(
        "aten.randint.low", "use (torch.rand(size) * n).floor(), and .long() for indices")),
    "a permutation": (lambda m, x: m(x)[torch.randperm(6)].mean(), unknown("aten.randperm.default", "use torch.rand(n).sort()[1]")),
    "bits": (lambda m, x: m(x).mean() + (x.int() & 3).float().mean(), unknown(
        "aten.bitwise_and.Scalar", "bits of integers are not supported; use %, // and comparisons")),
    "elements by booleans": (lambda m, x: m(x)[m(x) > 0].mean(), needs(
        "aten.index.Tensor", "indexing by booleans is not supported: the size of the result depends on values; use torch.where "
        "or masks that are multiplied")),
    "elements of a mask": (lambda m, x: m(x).masked_select(m(x) > 0).mean(), needs(
        "aten.masked_select.default", "a value decides a size, but a graph has the same in every step; use torch.where or masks "
        "that are multiplied")),
    "places of what is not 0": (lambda m, x: m(x).nonzero().float().mean(), needs("aten.nonzero.default", SIZES)),
    "what is unique": (lambda m, x: m(x).unique().mean(), needs("aten._unique2.default", SIZES)),
    "a number": (lambda m, x: m(x).mean() * m(x).max().item(), needs("aten._local_scalar_dense.default", NUMBERS)),
    "a list": (lambda m, x: m(x).mean() * m(x)[0, :1].tolist()[0], needs("aten._local_scalar_dense.default", NUMBERS)),
    "a norm of order 3": (lambda m, x: m(x).norm(3), needs(
        "aten.linalg_vector_norm.default", "norms of order 3 are not supported, only of 1, 2 and infinity")),
    "a convolution of volumes": (lambda m, x: F.conv3d(m(x).view(1, 1, 2, 3, 8), torch.ones(1, 1, 1, 1, 1)).mean(), needs(
        "aten.conv3d.default", "convolutions of three dimensions are not supported, only those of one and two")),
    "small integers": (lambda m, x: m(x).mean() + x.to(torch.int8).float().mean(), needs(
        "aten.to.dtype", f"elements of torch.int8 are not supported, only of {TYPES}")),
    "a branch": (lambda m, x: m(x).mean() if m(x).sum() > 0 else m(x).sum(), by_export(
        "GuardOnDataDependentSymNode: Could not guard on data-dependent expression Eq(u0, 1)", DECIDES)),
    "CTC": (lambda m, x: F.ctc_loss(m(x).view(6, 1, 8).log_softmax(2), torch.ones(1, 2).long(), torch.tensor([6]), torch.tensor([2])),
            by_export("DynamicOutputShapeException: aten._ctc_loss.Tensor", DECIDES)),
    "another shape": (lambda m, x: m(x[:, :4]).mean(), by_export(
        "RuntimeError: a and b must have same reduction dim, but got [6, 4] X [8, 8].")),
    "a name that is not there": (lambda m, x: m(x).meen(), by_export("AttributeError: 'FakeTensor' object has no attribute 'meen'")),
    "an array": (lambda m, x: m(x).mean() * float(m(x).detach().numpy().sum()),
                 "the loss takes the array of a tensor by numpy(), which is not part of the exported graph; compute with "
                 "PyTorch's functions, or give what NumPy computes as an input {place}"),
    "data": (lambda m, x: m(x).mean() * m(x).data.max(),
             "the model uses .data of a tensor, which is not part of the exported graph; use .detach() for values without a "
             "gradient, make what forward changes a buffer, and change parameters between steps {place}"),
    "backward": (lambda m, x: [m(x).mean(), m(x).mean().backward()][0],
                 "the loss calls backward(), which would change no gradient; return the sum of all losses {place}"),
    "inference mode": (lambda m, x: [torch.inference_mode().__enter__(), m(x).mean()][1],
                       "the loss enters torch.inference_mode, which the exported graph does not have; use torch.no_grad, or "
                       "detach() {place}"),
    "a hook": (lambda m, x: [m(x).register_hook(print), m(x).mean()][1],
               "the loss gives a tensor a gradient hook, which would not be called; write it with detach() {place}"),
    "freezing": (lambda m, x: [m.weight.requires_grad_(False), m(x).mean()][1],
                 "the loss changes requires_grad of a parameter while it is computed, which a compiled step would not do "
                 "again; do it before compile(), or use detach() {place}"),
    "two losses": (lambda m, x: (m(x).mean(), m(x).sum()),
                   "the loss has 2 values; it must be one tensor, or a dict with 'loss' and others {place}"),
    "a loss of each": (lambda m, x: m(x), "the loss is (6, 8); it must be a tensor without dimensions that depends on the "
                       "batch, such as a mean {place}"),
    "a loss that is a count": (lambda m, x: (m(x) > 0).sum(), "the loss is a whole number, which has no gradient; return "
                               "a sum or mean of floats {place}"),
    "no loss": (lambda m, x: None, "the loss is None; it must be a tensor without dimensions that depends on the batch, such "
                "as a mean {place}"),
    "a dict without a loss": (lambda m, x: {"los": m(x).mean()},
                              "the loss function returns a dict with 'los'; it must have 'loss' {place}"),
    "other names": (lambda m, y: m(y).mean(), "the loss function is called as loss(model, x=), by the names of example_inputs: "
                    "missing a required argument: 'y' {place}"),
    "a loss of inputs alone": (lambda m, x: x.mean(), "the optimizer does not have any parameter that the loss has a "
                               "gradient of; give it those of the model, and compute the loss from them without detach() and "
                               "no_grad()"),
}


def mean(m, x):
    return m(x).mean()


def largest(m, x):
    return m(x).max(0)[0].mean()


def picked(m, x):
    return m(x).gather(1, x[:, :1].long()).mean()


def line_of(loss):
    """How errors of the graph name the line of a loss of one line."""
    return f"{__file__}:{loss.__code__.co_firstlineno + 1}"


class Remade(nn.Linear):

    def forward(self, x):
        self.inner = nn.Linear(8, 8)
        return self.inner(super().forward(x))


def stepped(batch):
    return compiled(mean).step(batch)


# What compile() and a trainer are called with, and the error.
CALLS = {
    "a module in DataParallel": (lambda: compiled(mean, nn.DataParallel(nn.Linear(8, 8))),
                                 "the model is wrapped in DataParallel, but Splitcast itself adds up the gradients of ranks; "
                                 "give model.module, and the optimizer its parameters"),
    "both ways to clip": (lambda: compiled(mean, clip_norm=1.0, clip_value=1.0),
                          f"{LINE}: minimize(f32) has clip_norm = 1.000000e+00 and clip_value = 1.000000e+00; gradients can be "
                          "clipped by one of them only"),
    "a seed below 0": (lambda: compiled(mean, seed=-1), "seed is -1; it must be a whole number from 0 to 2^63 - 1"),
    "no micro-batches": (lambda: compiled(mean, accumulate=0),
                         f"{LINE}: minimize(f32) has accumulate = 0; there must be at least one micro-batch"),
    "a stage beyond the last": (lambda: compiled(mean, enable_zero=4),
                                "enable_zero is 'stage=4'; stage is '4', which must be 0, 1, 2 or 3"),
    "a group that is not there": (lambda: compiled(mean, nn.Sequential(nn.Linear(8, 8)), policies={"h": 3}),
                                  "policies= has the group 'h', which the model does not have; its groups are '0', and the "
                                  "modules that they are in"),
    "another optimizer": (lambda: compiled(mean, optimizer=torch.optim.LBFGS([torch.zeros(1, requires_grad=True)])),
                          "the optimizer is a LBFGS; it must be a splitcast.Optimizer or one of torch.optim.SGD, "
                          "torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad"),
    "fewer rows": (lambda: stepped({"x": X[:5]}),
                   "the batch has 5 rows of input 'x' on this rank; step needs 6, as compile() was given. Give compile() an "
                   "example of each other shape, such as that of the last batch: other_inputs=[last]. Or leave that batch "
                   "out (drop_last=True of a DataLoader). Rows that fill it up would count in batch norms and in other terms "
                   "of the loss. With compile(whole_batch=True) ranks give the whole batch and need not share it"),
    "another name": (lambda: stepped({"y": X}), "the batch has no x; it needs x"),
    "another type": (lambda: stepped({"x": X.long()}),
                     "the batch's 'x' has elements of torch.int64, and compile() was given torch.float32, which does not hold "
                     "all of them without loss; convert it by .to(torch.float32), or compile with an example of its type"),
    "an example of bytes": (lambda: compiled(mean, x=X.byte()),
                            f"example input 'x' has elements of torch.uint8; inputs can have {TYPES}: convert it, such as by "
                            ".float() or .long()"),
    "an example that is a list": (lambda: compiled(mean, x=[1.0]), "example input 'x' is a list; it must be a tensor whose first "
                                  "dimension is that of the batch, or one without dimensions"),
    "a part that is made as it runs": (lambda: compiled(mean, Remade(8, 8)),
                                       "part 'inner' is made, replaced or set to another mode while the loss is computed, "
                                       "which is not part of the exported graph; do it before compile()"),
    "a lazy part": (lambda: compiled(mean, nn.LazyLinear(8)),
                    "'weight' has no shape yet, since its part is lazy; call the model once, with a batch, before compile() "
                    "and before the optimizer is made"),
    "a maximum over micro-batches": (lambda: compiled(largest, accumulate=2),
                                     f"the module does not compile:\n{line_of(largest)}: 'nn.max_pool' op needs operand 0 of "
                                     "all micro-batches at once, but these are computed one after the other (it is S(2) along "
                                     "micro-batches, and wanted as S(0)); compute the step in one micro-batch, or split the "
                                     "input that it comes from in another way"),
    "an index outside": (lambda: compiled(picked, x=X * 0).step({"x": X + 8}),
                         f"step 1 of @train: {line_of(picked)}: 'nn.embedding': index 0 of its input is -1; it must be from "
                         "0 to 47: check the data, or enlarge the table"),
    "evaluating without it": (lambda: compiled(mean, evaluate=False).evaluate({"x": X}),
                              "the model was compiled with evaluate=False; leave it out of compile() to evaluate"),
}


def refusal(call):
    """The text of the error, or that there is none."""
    try:
        call()
    except sc.Error as error:
        return str(error)
    return "(no error)"


def told(call, expected):
    found = refusal(call)
    return "ok" if found == expected else f"raises {found}; it must be {expected}"


# ---- Errors of this package ----
def fails(importer, x):
    return [][x.shape[0]]


def a_converter_that_fails():
    """An exception that a converter does not raise on purpose is a defect, and not a missing op."""
    before, loss = ops.OPS[ops.ATEN.relu.default], lambda m, x: m(x).relu().mean()
    ops.OPS[ops.ATEN.relu.default] = fails
    try:
        compiled(loss)
    except sc.Error as error:
        expected = (f"splitcast.torch failed at aten.relu.default {place_of(loss)}: IndexError: list index out of range\n"
                    "This is a defect of Splitcast, not of the model; please report it with this text and the line of "
                    "the model")
        is_right = type(error) is sc.Error and isinstance(error.__cause__, IndexError) and str(error) == expected
        return "ok" if is_right else f"raises {type(error).__name__}: {error}"
    finally:
        ops.OPS[ops.ATEN.relu.default] = before
    return "is no error"


def a_form_that_is_not_there():
    """Arguments that a converter does not have are a missing form of the op."""
    before, loss = ops.OPS[ops.ATEN.relu.default], lambda m, x: m(x).relu().mean()
    ops.OPS[ops.ATEN.relu.default] = lambda importer: None
    try:
        compiled(loss)
    except sc.InvalidError as error:
        expected = ("this model needs ops that splitcast.torch does not support:\n  aten.relu.default: this form of the op "
                    f"is not supported: too many positional arguments {place_of(loss)}")
        return "ok" if str(error) == expected else f"raises {error}"
    finally:
        ops.OPS[ops.ATEN.relu.default] = before
    return "is no error"


def remedies():
    """What the errors above say to write instead is what eager PyTorch computes by the op."""
    x = X.sin() + 1.5
    bounds = torch.tensor([0.7, 1.0, 2.0])
    pairs = {
        "kthvalue": (lambda h: h.topk(2, 1, largest=False)[0][:, -1], lambda h: h.kthvalue(2, 1)[0]),
        "median": (lambda h: h.sort(1)[0][:, 3], lambda h: h.median(1)[0]),
        "cumprod": (lambda h: h.log().cumsum(1).exp(), lambda h: h.cumprod(1)),
        "bincount": (lambda h: (h.long()[:, 0][:, None] == torch.arange(4)).sum(0).float(),
                     lambda h: torch.bincount(h.long()[:, 0], minlength=4).float()),
        "bucketize": (lambda h: (h[..., None] > bounds).sum(-1).float(), lambda h: torch.bucketize(h, bounds).float()),
        "randint": (lambda h: h[(torch.rand(6) * 6).floor().long()].mean(0) * 0 + h[0], lambda h: h[0]),
        "randperm": (lambda h: h[torch.rand(6).sort()[1]].sum(0), lambda h: h.sum(0)),
    }
    for name, (ours, theirs) in pairs.items():
        trainer = compiled(lambda m, x: (ours(x)**2).mean() + 0 * m(x).mean(), x=x)
        found, right = trainer.evaluate({"x": x}), (theirs(x)**2).mean().item()
        if abs(found - right) > 1e-5 * right:
            return f"{name}: {found}, eager {right}"
    return "ok"


OTHERS = {name: lambda loss=loss, text=text: told(lambda: compiled(loss), text.replace("{place}", place_of(loss)))
          for name, (loss, text) in LOSSES.items()}
OTHERS |= {name: lambda call=call, text=text: told(call, text) for name, (call, text) in CALLS.items()}
OTHERS |= {"names of ops": lambda: ", ".join(ops.ABSENT) or "ok", "remedies": remedies,
           "a converter that fails": a_converter_that_fails, "a form that is not there": a_form_that_is_not_there}

SUITE = common.suite(common.Cases({}, others=OTHERS))

if __name__ == "__main__":
    SUITE.run()
