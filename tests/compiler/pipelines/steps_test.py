#!/usr/bin/env python3
"""How the compiler's work grows, in instructions: steps_test.py SPLITCAST_OPT

Of a whole compilation of rank 0's plan, counted by valgrind: the same number in every run, and no seconds. Twice the layers
are at most 2.3 times the instructions, 1,024 ranks at most 1.2 times those of 2 (on a mesh, at 8 stages, 1.05 times those of
8 ranks at 2), and four further axes of size 1 at most 1.1
times those of a mesh without. Work that grows with the square shows at these sizes already: between 16 and 64 layers, what
the first half of the layers costs is taken from what all cost, so that starting the program does not count.
"""
import re
import subprocess
import sys
import unittest

from growth_test import mlp

OPT = None


PLAN = ["--sbp-localize=rank=0", "--local-pipeline", "--exec-lower"]


def instructionsOf(text, zero, levels=PLAN):
    result = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", OPT, "-",
                             f"--enable-zero={zero}", *levels, "-o", "/dev/null"], input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"exit status {result.returncode}: {result.stderr[-2000:]}"
    return int(re.search(r"I +refs: +([\d,]+)", result.stderr)[1].replace(",", ""))


def losses(count, perFunction):
    """As many variables, each of a loss of its own, so many to a function."""
    lines = ['#S0 = #sbp.nd<#sbp.placement<"cpu", [dp = 2]>, [S(0)]>']
    lines += [f"sbp.variable @w{i} : tensor<4xf32>" for i in range(count)]
    for i in range(count):
        if i % perFunction == 0:
            lines.append(f"func.func @train{i}(%x: tensor<8x4xf32, #S0>) {{")
        lines += [f"  %w{i} = sbp.read @w{i} : tensor<4xf32>",
                  f"  %m{i} = nn.mul %x, %w{i} : (tensor<8x4xf32, #S0>, tensor<4xf32>) -> tensor<8x4xf32>",
                  f"  %l{i} = nn.reduce_sum %m{i} {{dims = array<i64: 0, 1>}} : (tensor<8x4xf32>) -> tensor<f32>",
                  f"  nn.minimize %l{i} : tensor<f32> with #nn.sgd<lr = 0.5>"]
        if i % perFunction == perFunction - 1:
            lines += ["  return", "}"]
    return "\n".join(lines)


def stages(layers, data, stages, divided):
    """Layers of two products that ranks of `tp` divide, at stages of `pp`."""
    lines = [f'#p = #sbp.placement<"cpu", [dp = {data}, pp = {stages}, tp = {divided}]>', "#S0 = #sbp.nd<#p, [S(0), B, B]>"]
    body, x, wide, narrow = [], "%x", "tensor<128x64xf32>", "tensor<128x16xf32>"
    for layer in range(layers):
        stage = f"At({layer * stages // layers})"
        for name, shape, split in (("up", "16x64", "S(1)"), ("down", "64x16", "S(0)"), ("bias", "16", "B")):
            lines.append(f"sbp.variable @{name}{layer} : tensor<{shape}xf32, #sbp.nd<#p, [B, {stage}, {split}]>>")
            body.append(f"  %{name}{layer} = sbp.read @{name}{layer} : tensor<{shape}xf32>")
        of = "tensor<128x16xf32, #S0>" if layer == 0 else narrow
        body += [f"  %y{layer} = nn.matmul {x}, %up{layer} : ({of}, tensor<16x64xf32>) -> {wide}",
                 f"  %g{layer} = nn.gelu %y{layer} : ({wide}) -> {wide}",
                 f"  %z{layer} = nn.matmul %g{layer}, %down{layer} : ({wide}, tensor<64x16xf32>) -> {narrow}",
                 f"  %x{layer} = nn.add %z{layer}, %bias{layer} : ({narrow}, tensor<16xf32>) -> {narrow}"]
        x = f"%x{layer}"
    return "\n".join(lines + ["func.func @train(%x: tensor<128x16xf32, #S0>) {"] + body +
                     [f"  %last = nn.gelu {x} : ({narrow}) -> {narrow}",
                      f"  %loss = nn.reduce_sum %last {{dims = array<i64: 0, 1>}} : ({narrow}) -> tensor<f32>",
                      "  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>", "  return", "}"])


class StepsTest(unittest.TestCase):
    def checkTwiceTheLayers(self, zero):
        self.checkTwice(lambda layers: mlp(layers, 2), zero, 16)

    def checkTwice(self, make, zero, few, levels=PLAN):
        small, middle, large = (instructionsOf(make(few * times), zero, levels) for times in (1, 2, 4))
        growth = (large - middle) / (middle - small)
        print(f"{zero}: {small}, {middle}, {large} instructions: {growth:.3f} times")
        self.assertLess(growth, 2.3)
        self.assertGreater(growth, 1.7)  # else these are not the layers' steps

    def testTwiceTheLayersInBuckets(self):
        self.checkTwiceTheLayers("stage=3")

    def testTwiceTheLayersByRows(self):
        self.checkTwiceTheLayers("stage=2 strategy=tensor")

    def testTwiceTheLosses(self):
        self.checkTwice(lambda count: losses(count, count), "stage=0", 200, levels=[])

    def testTwiceTheFunctions(self):
        self.checkTwice(lambda count: losses(count, 1), "stage=0", 64)

    def testMoreRanksCostNothing(self):
        few, many = (instructionsOf(mlp(16, ranks), "stage=3") for ranks in (2, 1024))
        print(f"2 ranks: {few} instructions, 1,024: {many}: {many / few:.3f} times")
        self.assertLess(many / few, 1.2)

    def testMoreRanksOfAMeshCostLittle(self):
        few, many = (instructionsOf(stages(16, *sizes), "stage=3 axis=dp accumulate=4") for sizes in ((2, 2, 2), (16, 8, 8)))
        print(f"2 x 2 x 2 ranks: {few} instructions, 16 x 8 x 8: {many}: {many / few:.3f} times")
        self.assertLess(many / few, 1.05)

    def testAxesOfSizeOneCostNothing(self):
        text = mlp(16, 2)
        axes = text.replace("[dp = 2]", "[dp = 2, tp = 1, a = 1, b = 1, c = 1]").replace("[S(0)]", "[S(0), B, B, B, B]")
        one, five = (instructionsOf(t, "stage=3 axis=dp") for t in (text, axes))
        print(f"1 axis: {one} instructions, 5: {five}: {five / one:.3f} times")
        self.assertLess(five / one, 1.1)


if __name__ == "__main__":
    OPT = sys.argv.pop(1)
    unittest.main()
