"""Times the compiler on MLPs and GPTs of growing size. With --baseline, a second splitcast-opt is timed in turns.

    python3 benchmarks/compile_time.py --opt=SPLITCAST_OPT [--baseline=SPLITCAST_OPT] [--rounds=5] [--only=TEXT]
                                       [--write=DIRECTORY]

Prints a line per model: its least user seconds over all rounds, how many times as long that is as for the model with
half as many layers, and the seconds of the baseline with their ratio. Twice as many ops should take about twice as
long; more ranks, or axes of size 1, should not take longer. What is timed is the compilation of rank 0's plan, without
that of kernels. --only takes only models whose names contain TEXT. --write writes the models as .mlir files, and times
nothing.
"""
import argparse
import dataclasses
import os
import resource
import subprocess
import tempfile

from launch import fail

LIMIT = 120  # seconds after which a compilation is stopped


def parseArguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", required=True, help="the splitcast-opt to time")
    parser.add_argument("--baseline", help="another splitcast-opt to compare with")
    parser.add_argument("--rounds", type=int, default=5, help="how many times each model is compiled (%(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="time only models whose names contain TEXT")
    parser.add_argument("--write", metavar="DIRECTORY", help="write the models to DIRECTORY, and time nothing")
    return parser.parse_args()


class Body:
    """The lines of a function, in which values are numbered, and the module's variables. Variables are whole on all
    ranks, except along the axes "tp" and "pp": along "pp" they are at coordinate `stage`, or on all ranks if it is
    None."""

    def __init__(self, axes):
        self.axes, self.lines, self.variables, self.stage = axes, [], [], None

    def op(self, text, result):
        name = f"%{len(self.lines)}"
        self.lines.append(f"  {name} = {text} -> {result}")
        return name

    def layout(self, split):
        entries = {
            "tp": "B" if split is None else f"S({split})", "pp": "B" if self.stage is None else f"At({self.stage})"
        }
        return "#sbp.nd<#p, [" + ", ".join(entries.get(name, "B") for name, _ in self.axes) + "]>"

    def variable(self, name, shape, group, split=None):
        self.variables.append(f'sbp.variable @{name} : tensor<{shape}xf32, {self.layout(split)}> '
                              f'init #sbp.normal<mean = 0.0, stddev = 0.02> group "{group}"')
        value = f"%{len(self.lines)}"
        self.lines.append(f"  {value} = sbp.read @{name} : tensor<{shape}xf32>")
        return value

    def dense(self, x, rows, inputs, outputs, name, group, split=None):
        """Adds x * weight + bias. `split` is the dimension of the weight that axis tp splits, or None."""
        weight = self.variable(f"{name}.weight", f"{inputs}x{outputs}", group, split)
        bias = self.variable(f"{name}.bias", f"{outputs}", group, 0 if split == 1 else None)
        result = f"tensor<{rows}x{outputs}xf32>"
        y = self.op(f"nn.matmul {x}, {weight} : (tensor<{rows}x{inputs}xf32>, tensor<{inputs}x{outputs}xf32>)", result)
        return self.op(f"nn.add {y}, {bias} : ({result}, tensor<{outputs}xf32>)", result)

    def module(self, arguments, result):
        """Returns the text of the module. The function's arguments are split along the first axis of the mesh."""
        split = "#sbp.nd<#p, [S(0)" + ", B" * (len(self.axes) - 1) + "]>"
        types = ", ".join(f"%{name}: tensor<{type}, #S0>" for name, type in arguments)
        names = ", ".join(f"{name} = {size}" for name, size in self.axes)
        return "\n".join([f'#p = #sbp.placement<"cpu", [{names}]>', f"#S0 = {split}",
                          "module attributes {sbp.placement = #p} {"] + self.variables +
                         [f"func.func @train({types}) -> tensor<f32> {{"] + self.lines +
                         [f"  nn.minimize {result} : tensor<f32> with #nn.adam<lr = 0.1, beta1 = 0.9, beta2 = 0.999, "
                          "epsilon = 1.0e-8>", f"  return {result} : tensor<f32>", "}", "}", ""])


def mlp(layers, axes):
    """Returns an MLP: each layer is a product, a bias and a gelu, and has a group of its own."""
    body, x = Body(axes), "%x"
    for layer in range(layers):
        sums = body.dense(x, 8, 16, 16, f"l{layer}", f"l{layer}")
        if layer == 0:  # the type of the argument has its signature
            body.lines[-2] = body.lines[-2].replace("(tensor<8x16xf32>", "(tensor<8x16xf32, #S0>")
        x = body.op(f"nn.gelu {sums} : (tensor<8x16xf32>)", "tensor<8x16xf32>")
    loss = body.op(f"nn.reduce_sum {x} {{dims = array<i64: 0, 1>}} : (tensor<8x16xf32>)", "tensor<f32>")
    return body.module([("x", "8x16xf32")], loss)


@dataclasses.dataclass
class Sizes:
    layers: int
    width: int
    heads: int
    samples: int
    vocabulary: int = 50257
    context: int = 64


class Gpt:
    """A model with GPT-2's blocks, like that of examples/gpt."""

    def __init__(self, sizes, axes):
        self.sizes, self.body = sizes, Body(axes)
        self.stages = dict(axes).get("pp", 1)
        self.rows = sizes.samples * sizes.context
        self.flow = f"tensor<{sizes.samples}x{sizes.context}x{sizes.width}xf32>"
        self.flat = f"tensor<{self.rows}x{sizes.width}xf32>"
        self.split = f"tensor<{sizes.samples}x{sizes.context}x{sizes.heads}x{sizes.width // sizes.heads}xf32>"

    def reshape(self, x, before, after):
        return self.body.op(f"nn.reshape {x} : ({before})", after)

    def add(self, x, y):
        return self.body.op(f"nn.add {x}, {y} : ({self.flow}, {self.flow})", self.flow)

    def norm(self, x, name, group):
        width = self.sizes.width
        weight, bias = (self.body.variable(f"{name}.{part}", f"{width}", group) for part in ("weight", "bias"))
        y = self.body.op(f"nn.layer_norm {x}, {weight}, {bias} {{epsilon = 1.0e-5 : f64}} : "
                         f"({self.flow}, tensor<{width}xf32>, tensor<{width}xf32>)", self.flow)
        return self.reshape(y, self.flow, self.flat)

    def block(self, x, group):
        width, rows = self.sizes.width, self.rows
        y = self.norm(x, f"{group}.ln1", group)
        parts = [
            self.reshape(self.body.dense(y, rows, width, width, f"{group}.{part}", group, 1), self.flat, self.split)
            for part in ("query", "key", "value")
        ]
        mixed = self.body.op(f"nn.attention {', '.join(parts)} {{causal, scale = 0.125 : f64}} : "
                             f"({', '.join([self.split] * 3)})", self.split)
        mixed = self.reshape(mixed, self.split, self.flat)
        mixed = self.body.dense(mixed, rows, width, width, f"{group}.projection", group, 0)
        x = self.add(x, self.reshape(mixed, self.flat, self.flow))
        y = self.body.dense(self.norm(x, f"{group}.ln2", group), rows, width, 4 * width, f"{group}.up", group, 1)
        wide = f"tensor<{rows}x{4 * width}xf32>"
        y = self.body.op(f"nn.gelu {y} {{tanh}} : ({wide})", wide)
        y = self.body.dense(y, rows, 4 * width, width, f"{group}.down", group, 0)
        return self.add(x, self.reshape(y, self.flat, self.flow))

    def text(self):
        s = self.sizes
        tokens, words = f"tensor<{s.samples}x{s.context}xi64, #S0>", f"tensor<{s.vocabulary}x{s.width}xf32>"
        table = self.body.variable("wte", f"{s.vocabulary}x{s.width}", "embedding", 0)
        places = self.body.variable("wpe", f"{s.context}x{s.width}", "embedding")
        x = self.body.op(f"nn.embedding {table}, %tokens : ({words}, {tokens})", self.flow)
        x = self.body.op(f"nn.add {x}, {places} : ({self.flow}, tensor<{s.context}x{s.width}xf32>)", self.flow)
        for layer in range(s.layers):
            self.body.stage = layer * self.stages // s.layers if self.stages > 1 else None
            x = self.block(x, f"h{layer}")
        logits = f"tensor<{self.rows}x{s.vocabulary}xf32>"
        y = self.body.op(f"nn.matmul {self.norm(x, 'ln', 'ln')}, {table} {{transpose_b}} : ({self.flat}, {words})",
                         logits)
        labels = self.reshape("%next", tokens, f"tensor<{self.rows}xi64>")
        losses = self.body.op(f"nn.softmax_cross_entropy {y}, {labels} : ({logits}, tensor<{self.rows}xi64>)",
                              f"tensor<{self.rows}xf32>")
        total = self.body.op(f"nn.reduce_sum {losses} {{dims = array<i64: 0>}} : (tensor<{self.rows}xf32>)",
                             "tensor<f32>")
        loss = self.body.op(f"nn.scale {total} {{value = {1 / self.rows} : f64}} : (tensor<f32>)", "tensor<f32>")
        return self.body.module([(name, f"{s.samples}x{s.context}xi64") for name in ("tokens", "next")], loss)


@dataclasses.dataclass
class Line:
    name: str
    text: str
    zero: str
    before: str = ""  # the name of the line with half as many layers

    def command(self, opt, path):
        return [
            opt, path, f"--enable-zero={self.zero}", "--sbp-localize=rank=0", "--local-pipeline", "--exec-lower", "-o",
            os.devnull
        ]


def mlpLines():
    for zero in ("stage=1", "stage=2", "stage=3", "stage=1 strategy=tensor", "stage=2 strategy=tensor",
                 "stage=3 strategy=tensor"):
        before = ""
        for layers in (100, 200, 400, 800, 1600, 3200):
            name = f"mlp {layers}, {zero}"
            yield Line(name, mlp(layers, [("dp", 1)]), zero, before)
            before = name


def gptLines():
    small, large = Sizes(12, 768, 12, 1024), Sizes(48, 1600, 25, 1024)
    for name, sizes in (("gpt 124M", small), ("gpt 24 layers", dataclasses.replace(small, layers=24)),
                        ("gpt 1558M", large)):
        for ranks in (2, 1024):
            yield Line(f"{name}, {ranks} ranks", Gpt(sizes, [("dp", ranks)]).text(), "stage=3")
    ragged = dataclasses.replace(small, samples=1000)
    for ranks in (3, 1024):
        yield Line(f"gpt 124M, batch 1000 on {ranks} ranks", Gpt(ragged, [("dp", ranks)]).text(), "stage=3")
    axes = [("dp", 2), ("mp", 2)]
    yield Line("gpt 124M, 2 x 2 ranks", Gpt(small, axes).text(), "stage=3 axis=dp")
    axes += [(f"a{i}", 1) for i in range(4)]
    yield Line("gpt 124M, 2 x 2 x 1 x 1 x 1 x 1 ranks", Gpt(small, axes).text(), "stage=3 axis=dp")
    deep = dataclasses.replace(small, layers=16, width=1024, heads=16, vocabulary=50304)
    for steps in ("", " accumulate=8"):
        for sizes in ((2, 2, 2), (16, 8, 8)):
            axes = list(zip(("dp", "pp", "tp"), sizes))
            yield Line("gpt, " + " x ".join(map(str, sizes)) + " ranks" + ("," + steps if steps else ""),
                       Gpt(deep, axes).text(), "stage=3 axis=dp" + steps)


def userSeconds(command):
    """Runs a command, and returns its user seconds; infinity if it does not end within LIMIT."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    try:
        result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return float("inf")
    if result.returncode != 0:
        fail(f"{' '.join(command)} ended with {result.returncode}:\n{result.stderr[:2000]}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def measure(line, arguments, path):
    """Runs the binaries in turns, and returns the least seconds of each. One that exceeds LIMIT in the first round is
    not run again."""
    binaries = [arguments.opt] + ([arguments.baseline] if arguments.baseline else [])
    least = {binary: float("inf") for binary in binaries}
    for number in range(arguments.rounds):
        for binary in binaries:
            if number == 0 or least[binary] < LIMIT:
                least[binary] = min(least[binary], userSeconds(line.command(binary, path)))
    return [least[binary] for binary in binaries]


def shown(value):
    return f"{value:8.3f}" if value < float("inf") else f"   > {LIMIT}"


def main():
    arguments = parseArguments()
    lines = [line for make in (mlpLines, gptLines) for line in make() if arguments.only in line.name]
    if not lines:
        fail(f"no model's name contains '{arguments.only}'")
    seconds = {}
    print(f"{'model':46} {'seconds':>8} {'growth':>7}" +
          (f" {'baseline':>8} {'ratio':>7}" if arguments.baseline else ""))
    if arguments.write:
        os.makedirs(arguments.write, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        for line in lines:
            path = os.path.join(arguments.write or directory,
                                "".join(c if c.isalnum() else "_" for c in line.name) + ".mlir")
            with open(path, "w", encoding="utf-8") as file:
                file.write(line.text)
            if arguments.write:
                continue
            ours, *theirs = measure(line, arguments, path)
            seconds[line.name] = ours
            growth = f"{ours / seconds[line.before]:7.2f}" if line.before in seconds else " " * 7
            compared = f" {shown(theirs[0])} {theirs[0] / ours:7.2f}" if theirs else ""
            print(f"{line.name:46} {shown(ours)} {growth}{compared}", flush=True)


if __name__ == "__main__":
    main()
