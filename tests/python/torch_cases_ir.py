"""What trainer.ir(level, around=NAME) shows of one parameter: how it is read, moved, used and updated, and where its
gradient comes from; nothing of another. conftest.py runs it as two and as three ranks."""
import re

import splitcast as sc
import splitcast.torch
import torch
import torch.nn as nn

from torch_suite import Suite

LONGEST = 60  # lines of an excerpt, of a model of two layers


class Named(nn.Module):

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.fc2(self.fc1(x).relu())


def compiled(model, stage, optimizer=torch.optim.SGD, **options):
    for parameter in model.parameters():
        nn.init.constant_(parameter, 0.5)
    x = torch.arange(64.0).view(8, 8)[:2 * sc.size()]
    return splitcast.torch.compile(model, lambda m, x: (m(x)**2).mean(), {"x": x}, optimizer(model.parameters(), lr=0.1),
                                   whole_batch=True, enable_zero=stage, **options)


def wrong_in(text, has, lacks):
    """What is not as said, or ''. has: patterns that lines have, in this order."""
    lines, at = text.splitlines(), 0
    for pattern in has:
        found = next((number for number in range(at, len(lines)) if re.search(pattern, lines[number])), None)
        if found is None:
            return f"has no {pattern} from line {at} on"
        at = found + 1
    extra = [pattern for pattern in lacks if re.search(pattern, text)]
    if extra:
        return f"has {extra[0]}"
    return f"has {len(lines)} lines" if len(lines) > LONGEST else ""


def expected(weight, stage):
    """By level, what the excerpt of a weight has and what it lacks. weight: how values and symbols are called."""
    value, name, other = weight
    group, symbol = name.rpartition(".")[0], rf'@"?{re.escape(name)}"?'
    bucket = rf'@"?{group}"?'
    gradient = f"%{re.escape(value)}_grad"
    is_split = stage == 3
    forward, backward = r"nn\.matmul %arg0, (%\d+) ", rf"{gradient} = nn\.matmul %\S+, %arg0 {{transpose_a}}"
    move = "reduce_scatter" if is_split else "all_reduce"
    # What other values and kernels are: those of the other layer, the loss.
    foreign = [rf'%_?{re.escape(other)}\.', "nn.broadcast", "reduce_sum", "nn.mul .*%arg"]
    update = [r"sbp\.scope \"update\"", r"nn\.(scale|mul)", r"nn\.sub"]
    assigned = rf"sbp\.bucket_assign {bucket}, %" if is_split else rf"sbp\.assign {symbol}, %"
    read = [rf"sbp\.bucket_read {bucket} :"]
    gathered = [r"sbp\.boxing .*#S0_> -> .*#B>"] if is_split else []
    return {
        "source": ([rf"sbp\.variable {symbol} ", r"func\.func @train", rf"sbp\.read {symbol} ", r"nn\.matmul %arg0",
                    r"nn\.minimize", r"func\.func @evaluate"], [rf"@\"?{other}\.", "nn.relu"]),
        "global": ([rf"sbp\.bucket {bucket} ", rf"sbp\.variable {symbol} ", r"func\.func @train", *read, *gathered,
                    rf"sbp\.bucket_member %\d+ at 0 of {bucket}", forward, backward,
                    rf"sbp\.bucket_pack {gradient}, .* at \[0, 64\]",
                    rf"sbp\.boxing {gradient}_\d+ : .*#P> -> .*{'#S0_' if is_split else '#B'}>", *update, assigned,
                    r"func\.func @evaluate", r"nn\.matmul %arg0"], foreign),
        "local": ([rf"sbp\.variable {symbol} ", rf"ccl\.storage @bucket\.{group}\.parameter ", r"func\.func @train",
                   rf"ccl\.read @bucket\.{group}\.parameter ", *([r"ccl\.all_gather"] if is_split else []),
                   r"ccl\.view %\d+ at 0 ", forward, backward, rf"ccl\.pack {gradient}, .* at \[0, 64\]",
                   rf'ccl\.{move} "bucket {group}" {gradient}_', rf"ccl\.wait {gradient}", "nn.fusion", "nn.sub",
                   rf"ccl\.assign @bucket\.{group}\.parameter, %\d+", r"func\.func @evaluate"], foreign[:2]),
        "plan": ([rf"exec\.storage @bucket\.{group}\.parameter .* in <", r"exec\.plan @train .*gradient \"bucket "
                  rf"{group}\", [^#]*(, #exec.buffer<staging \"bucket {group}\"[^#]*)?\]", r"exec\.library #exec\.matmul<m = 2, n = 8, k = 8, transpose_b",
                  r"exec\.library #exec\.matmul<m = 8, n = 8, k = 2, transpose_a", rf'exec\.collective {move} "bucket {group}"',
                  r"exec\.wait", r"exec\.launch @kernels", r"exec\.plan @evaluate", r"exec\.library"],
                 [r"\"loss\"", rf"bucket {other}", rf"@\"?{other}\.", "func.func"]),
    }


def shows_of(make, weight, stage):
    trainer = compiled(make(), stage)
    for level, (has, lacks) in expected(weight, stage).items():
        text = trainer.ir(level, around=weight[1])
        wrong = wrong_in(text, has, lacks)
        if wrong:
            return f"at level {level} it {wrong}: {text}"
        whole = trainer.ir(level).splitlines()
        strange = [line for line in text.splitlines() if line not in whole and "exec.plan" not in line]
        if strange:
            return f"at level {level} it has {strange[0]}, which the whole has not"
    return "ok"


def sequential():
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))


def bias_of_the_last_layer():
    """Its gradient is computed within a fusion, and its part of the bucket is the second one."""
    trainer = compiled(Named(), 0)
    for level, has, lacks in (
        ("global", [r"at 32 of @fc2", r"nn\.add", r"%fc2\.bias_grad = nn\.reduce_sum", r"sbp\.bucket_pack", r"sbp\.boxing",
                    r"nn\.sub", r"sbp\.assign @fc2\.bias, %"], [r"%fc2\.weight_grad = ", r"sbp\.assign @fc2\.weight"]),
        ("local", [r"ccl\.view %\d+ at 32 ", r"nn\.fusion", r"%fc2\.bias_grad\S* = nn\.reduce_sum", r"ccl\.pack",
                   r"ccl\.all_reduce", r"ccl\.assign @bucket\.fc2\.parameter, .*offset = 32"],
         [r"%fc2\.weight_grad = ", r"ccl\.assign @bucket\.fc2\.parameter, \S+ : tensor<4x8"])):
        text = trainer.ir(level, around="fc2.bias")
        wrong = wrong_in(text, has, lacks)
        if wrong:
            return f"at level {level} it {wrong}: {text}"
    return "ok"


def states_and_clipping():
    """The states of Adam, and the norm of all gradients, of which this one's share is shown; sums of micro-batches."""
    trainer = compiled(Named(), 3, torch.optim.AdamW, clip_norm=1.0, accumulate=2)
    for level, has in (("global", [r"role \"accumulated\", %fc1\.weight_grad", r"func\.func @train\.last",
                                   r"sbp\.bucket_read @fc1 role \"accumulated\"", r"nn\.add %fc1\.weight_grad", r"nn\.sqrt",
                                   r"sbp\.bucket_assign @fc1 role \"exp_avg_sq\"", r"sbp\.bucket_assign @fc1, "]),
                       ("plan", [r"@bucket\.fc1\.exp_avg_sq ", r"accumulator \"bucket\.fc1\.accumulated\"",
                                 r"exec\.plan @train\.last"])):
        text = trainer.ir(level, around="fc1.weight")
        if wrong_in("\n".join(text.splitlines()[:LONGEST]), [], [r"%fc2\."]) or wrong_in(text, has, []).startswith("has no"):
            return f"level {level} is {text}"
    return "ok"


def unknown():
    trainer = compiled(Named(), 0)
    for name in ("fc3.weight", "fc1", "weight", ""):
        try:
            trainer.ir("global", around=name)
        except sc.InvalidError as error:
            if f"nothing at this level is called '{name}'" not in str(error):
                return f"raises {error}"
        else:
            return f"{name} is no error"
    return "ok"


CASES = {f"{make.__name__}, stage {stage}": lambda make=make, weight=weight, stage=stage: shows_of(make, weight, stage)
         for make, weight in ((Named, ("fc1.weight", "fc1.weight", "fc2")), (sequential, ("_0.weight", "0.weight", "2")))
         for stage in (0, 3)}
CASES |= {"a bias": bias_of_the_last_layer, "states and clipping": states_and_clipping, "what is not there": unknown}


SUITE = Suite(CASES, ranks=(2, 3))

if __name__ == "__main__":
    SUITE.run()
