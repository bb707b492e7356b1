"""Writes optimizers.json: what 20 updates of a variable come to, by PyTorch in f64, or by a paper's formula in NumPy.

    python3 tests/vectors/gen_optimizers.py            (needs NumPy and PyTorch; the build and the tests do not)

A case is {optimizer, schedule, clip, by, final}: attributes of nn.minimize (clip, which has what else is said of it, is left out where that is nothing), whose formula it is, and the variables after the last
update. All start from `initial`, and the gradient of update i is the sum of rows of slopes[i], multiples of 1/64. There are two variables, of 5 and 8 elements. `matrices` is another such problem, whose variables are
4 x 3 and 2 x 5.
"""
import json
import math
import os

import numpy as np
import torch

RNG = np.random.default_rng(20261124)
STEPS, ROWS, ELEMENTS = 20, 6, 13
INITIAL = np.round(RNG.uniform(-2, 2, ELEMENTS) * 64) / 64
SLOPES = np.round(RNG.uniform(-1, 1, (STEPS, ROWS, ELEMENTS)) * 16) / 64
WARMUP = 4
FIRST = 5  # elements of the first variable
SHAPES = ((4, 3), (2, 5))
MATRICES = np.random.default_rng(20261125)
INITIAL_MATRICES = np.round(MATRICES.uniform(-2, 2, 22) * 64) / 64
SLOPES_MATRICES = np.round(MATRICES.uniform(-1, 1, (STEPS, ROWS, 22)) * 16) / 64


def byTorch(make, schedule=None, clip=lambda parameter: None):
    parameter = torch.nn.Parameter(torch.tensor(INITIAL))
    optimizer = make([parameter])
    scheduler = schedule(optimizer) if schedule else None
    for step in range(STEPS):
        parameter.grad = torch.tensor(SLOPES[step].sum(axis=0))
        clip(parameter)
        optimizer.step()
        if scheduler:
            scheduler.step()
    return parameter.detach().numpy()


def lion(lr, beta1, beta2, decay):
    """Chen and others 2023, algorithm 2."""
    p, m = INITIAL.copy(), np.zeros(ELEMENTS)
    for step in range(STEPS):
        g = SLOPES[step].sum(axis=0)
        p = p - lr * (np.sign(beta1 * m + (1 - beta1) * g) + decay * p)
        m = beta2 * m + (1 - beta2) * g
    return p


def lamb(lr, beta1, beta2, epsilon, decay):
    """You and others 2020, algorithm 2, with phi(z) = z: each variable has norms of its own."""
    p, m, v = INITIAL.copy(), np.zeros(ELEMENTS), np.zeros(ELEMENTS)
    for step in range(STEPS):
        g = SLOPES[step].sum(axis=0)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        r = m / (1 - beta1**(step + 1)) / (np.sqrt(v / (1 - beta2**(step + 1))) + epsilon) + decay * p
        for part in (slice(0, FIRST), slice(FIRST, ELEMENTS)):
            p[part] -= lr * np.linalg.norm(p[part]) / np.linalg.norm(r[part]) * r[part]
    return p


def splitMatrices(flat):
    sizes = [rows * columns for rows, columns in SHAPES]
    return [part.reshape(shape) for part, shape in zip(np.split(flat, np.cumsum(sizes)[:-1]), SHAPES)]


def orthogonal(x, coefficients, steps):
    a, b, c = coefficients
    x = x / np.linalg.norm(x)
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x


def muon(lr, momentum, decay, nesterov=True, steps=5, matchesRms=False, coefficients=(3.4445, -4.775, 2.0315)):
    """Jordan and others 2024, as PyTorch has it, but in f64."""
    result = []
    for index, p in enumerate(splitMatrices(INITIAL_MATRICES)):
        m = np.zeros_like(p)
        rows, columns = p.shape
        scale = 0.2 * math.sqrt(max(rows, columns)) if matchesRms else math.sqrt(max(1, rows / columns))
        for step in range(STEPS):
            g = splitMatrices(SLOPES_MATRICES[step].sum(axis=0))[index]
            m = momentum * m + (1 - momentum) * g
            d = momentum * m + (1 - momentum) * g if nesterov else m
            p = p * (1 - lr * decay) - lr * scale * orthogonal(d, coefficients, steps)
        result.append(p.ravel())
    return np.concatenate(result)


def muonByTorch(lr, **numbers):
    parameters = [torch.nn.Parameter(torch.tensor(part, dtype=torch.float32)) for part in splitMatrices(INITIAL_MATRICES)]
    optimizer = torch.optim.Muon(parameters, lr=lr, **numbers)
    for step in range(STEPS):
        for parameter, g in zip(parameters, splitMatrices(SLOPES_MATRICES[step].sum(axis=0))):
            parameter.grad = torch.tensor(g, dtype=torch.float32)
        optimizer.step()
    return np.concatenate([parameter.detach().numpy().ravel() for parameter in parameters])


def inGroups(first, second, clip=lambda parameters: None):
    """Two variables, by numbers of their own."""
    parameters = [torch.nn.Parameter(torch.tensor(part)) for part in (INITIAL[:FIRST], INITIAL[FIRST:])]
    optimizer = torch.optim.AdamW([{"params": [parameters[0]], **first}, {"params": [parameters[1]], **second}])
    for step in range(STEPS):
        g = SLOPES[step].sum(axis=0)
        parameters[0].grad, parameters[1].grad = torch.tensor(g[:FIRST]), torch.tensor(g[FIRST:])
        clip(parameters)
        optimizer.step()
    return np.concatenate([parameter.detach().numpy() for parameter in parameters])


def optimizers():
    optim = torch.optim
    yield "#nn.sgd<lr = 0.05>", lambda p: optim.SGD(p, 0.05)
    yield "#nn.momentum<lr = 0.05>", lambda p: optim.SGD(p, 0.05, momentum=0.9)
    yield "#nn.nesterov<lr = 0.05, momentum = 0.8>", lambda p: optim.SGD(p, 0.05, momentum=0.8, nesterov=True)
    yield "#nn.adam<lr = 0.01>", lambda p: optim.Adam(p, 0.01)
    yield ("#nn.adam<lr = 0.02, beta1 = 0.8, beta2 = 0.95, epsilon = 1.0e-3>",
           lambda p: optim.Adam(p, 0.02, betas=(0.8, 0.95), eps=1e-3))
    yield "#nn.adamw<lr = 0.01>", lambda p: optim.AdamW(p, 0.01)
    yield "#nn.adamw<lr = 0.01, weight_decay = 0.1>", lambda p: optim.AdamW(p, 0.01, weight_decay=0.1)
    yield "#nn.adagrad<lr = 0.05>", lambda p: optim.Adagrad(p, 0.05)
    yield "#nn.rmsprop<lr = 0.01>", lambda p: optim.RMSprop(p, 0.01)
    yield ("#nn.rmsprop<lr = 0.01, alpha = 0.9, momentum = 0.7>",
           lambda p: optim.RMSprop(p, 0.01, alpha=0.9, momentum=0.7))


def warmed(after):
    """In PyTorch: LinearLR, and another schedule behind it."""
    def schedule(optimizer):
        rates = torch.optim.lr_scheduler
        first = rates.LinearLR(optimizer, start_factor=1 / WARMUP, total_iters=WARMUP - 1)
        return rates.SequentialLR(optimizer, [first, after(optimizer)], milestones=[WARMUP])
    return schedule


def cosineTo(length, end):
    """CosineAnnealingLR, which rises again; behind its end the rate stays here."""
    def schedule(optimizer):
        return torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda t: end + (1 - end) * (1 + math.cos(math.pi * min(t, length) / length)) / 2)
    return schedule


def schedules(lr):
    rates = torch.optim.lr_scheduler
    yield "#nn.linear<steps = 15>", lambda o: rates.LinearLR(o, start_factor=1, end_factor=0, total_iters=15)
    yield "#nn.linear<steps = 30, end = 0.25>", lambda o: rates.LinearLR(o, 1, 0.25, total_iters=30)
    yield "#nn.cosine<steps = 25, end = 0.1>", lambda o: rates.CosineAnnealingLR(o, 25, eta_min=0.1 * lr)
    yield "#nn.cosine<steps = 12>", cosineTo(12, 0)
    yield "#nn.polynomial<steps = 22, power = 2.5>", lambda o: rates.PolynomialLR(o, total_iters=22, power=2.5)
    yield "#nn.polynomial<steps = 9>", lambda o: rates.PolynomialLR(o, total_iters=9)
    yield "#nn.step<every = 3, gamma = 0.7>", lambda o: rates.StepLR(o, 3, gamma=0.7)
    yield "#nn.exponential<gamma = 0.9>", lambda o: rates.ExponentialLR(o, 0.9)
    yield f"#nn.constant<warmup = {WARMUP}>", lambda o: rates.LinearLR(o, 1 / WARMUP, total_iters=WARMUP - 1)
    yield (f"#nn.step<every = 5, gamma = 0.5, warmup = {WARMUP}>",
           lambda o: rates.LambdaLR(o, lambda t: (t + 1) / WARMUP if t < WARMUP else 0.5**((t - WARMUP) // 5)))
    yield (f"#nn.cosine<steps = 24, warmup = {WARMUP}>",
           warmed(lambda o: rates.CosineAnnealingLR(o, 24 - WARMUP)))


def textOf(value):
    """JSON with a line for each case and for the slopes of each update, so that a diff shows what changed."""
    if isinstance(value, dict) and "optimizer" not in value:
        return "{\n" + ",\n".join(f"{json.dumps(key)}:{textOf(of)}" for key, of in value.items()) + "}"
    if isinstance(value, list) and not isinstance(value[0], float):
        return "[\n" + ",\n".join(json.dumps(of, separators=(",", ":")) for of in value) + "\n]"
    return json.dumps(value, separators=(",", ":"))


def main():
    cases = []
    for text, make in optimizers():
        cases.append({"optimizer": text, "schedule": "", "by": "PyTorch", "final": byTorch(make).tolist()})
    cases.append({"optimizer": "#nn.lion<lr = 0.01, weight_decay = 0.1>", "schedule": "", "by": "NumPy",
                  "final": lion(0.01, 0.9, 0.99, 0.1).tolist()})
    for text, schedule in schedules(0.02):
        cases.append({"optimizer": "#nn.adamw<lr = 0.02>", "schedule": text, "by": "PyTorch",
                      "final": byTorch(lambda p: torch.optim.AdamW(p, 0.02), schedule).tolist()})
    # Of 20 norms, from 0.75 to 1.69: the first clips all, the second some.
    for norm in (0.5, 1.3):
        cases.append({"optimizer": "#nn.momentum<lr = 0.05>", "schedule": "", "clip": f"{{clip_norm = {norm}}}", "by": "PyTorch",
                      "final": byTorch(lambda p: torch.optim.SGD(p, 0.05, momentum=0.9),
                                       clip=lambda p, norm=norm: torch.nn.utils.clip_grad_norm_([p], norm)).tolist()})
    cases.append({"optimizer": "#nn.momentum<lr = 0.05>", "schedule": "", "clip": "{clip_value = 0.3}", "by": "PyTorch",
                  "final": byTorch(lambda p: torch.optim.SGD(p, 0.05, momentum=0.9),
                                   clip=lambda p: torch.nn.utils.clip_grad_value_([p], 0.3)).tolist()})
    cases.append({"optimizer": "#nn.lamb<lr = 0.01>", "schedule": "", "by": "NumPy",
                  "final": lamb(0.01, 0.9, 0.999, 1e-6, 0.01).tolist()})
    cases.append({"optimizer": "#nn.lamb<lr = 0.02, beta1 = 0.8, beta2 = 0.95, epsilon = 1.0e-3, weight_decay = 0.1>",
                  "schedule": "", "by": "NumPy", "final": lamb(0.02, 0.8, 0.95, 1e-3, 0.1).tolist()})
    group = '#nn.parameters<"rest" of ["*.b"] with #nn.adamw<lr = 0.03, beta1 = 0.8, weight_decay = 0.0>>'
    first, second = {"lr": 0.01, "weight_decay": 0.1}, {"lr": 0.03, "betas": (0.8, 0.999), "weight_decay": 0.0}
    cases.append({"optimizer": "#nn.adamw<lr = 0.01, weight_decay = 0.1>", "schedule": "",
                  "clip": f"{{groups = [{group}]}}", "by": "PyTorch", "final": inGroups(first, second).tolist()})
    cases.append({"optimizer": "#nn.adamw<lr = 0.01, weight_decay = 0.1>", "schedule": "",
                  "clip": f"{{clip_norm = 1.3, groups = [{group}]}}", "by": "PyTorch",
                  "final": inGroups(first, second, lambda p: torch.nn.utils.clip_grad_norm_(p, 1.3)).tolist()})
    matrices = {"initial": INITIAL_MATRICES.tolist(), "slopes": SLOPES_MATRICES.tolist(), "cases": [
        {"optimizer": "#nn.muon<lr = 0.002>", "schedule": "", "by": "NumPy", "final": muon(0.002, 0.95, 0.1).tolist()},
        {"optimizer": "#nn.muon<lr = 0.002, momentum = 0.8, weight_decay = 0.0, nesterov = 0, steps = 3, match_rms_adamw = 1>",
         "schedule": "", "by": "NumPy", "final": muon(0.002, 0.8, 0, False, 3, True).tolist()},
        {"optimizer": "#nn.muon<lr = 0.002, bf16 = 1>", "schedule": "", "by": "PyTorch, whose steps are in bf16",
         "within": 3e-4, "final": muonByTorch(0.002).tolist()}]}
    document = {"initial": INITIAL.tolist(), "slopes": SLOPES.tolist(), "cases": cases, "matrices": matrices}
    with open(os.path.join(os.path.dirname(__file__), "optimizers.json"), "w", encoding="utf-8") as file:
        file.write(textOf(document) + "\n")
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
