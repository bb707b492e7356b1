#!/usr/bin/env python3
"""What the compiler makes grows with what it is given, and no faster: growth_test.py SPLITCAST_OPT

Counts ops, not seconds. A chain of constants that are used twice each has as many ways to its end as 2 to its length, and
is compiled to as many ops as it has; one of 20,000 ops in a row compiles at all. An MLP of twice the layers has about twice
the ops, on each level, and on 512 ranks as many as on 2.
"""
import subprocess
import sys
import unittest

OPT = None
LOCAL = ["--sbp-localize=rank=0", "--local-pipeline"]


def opsOf(text, *arguments):
    """The number of lines with an op, after these passes."""
    result = subprocess.run([OPT, "-", *arguments], input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"exit status {result.returncode}: {result.stderr[:2000]}"
    lines = [line.strip() for line in result.stdout.splitlines()]
    return sum((" = " in line and not line.startswith("#")) or line.startswith("exec.") for line in lines)


def chain(length, step):
    lines = ['#B = #sbp.nd<#sbp.placement<"cpu", [dp = 1]>, [B]>',
             "func.func @f(%x: tensor<4xf32, #B>) -> tensor<4xf32> {", "  %c0 = nn.constant 1.0 : tensor<4xf32>"]
    lines += ["  " + step(i) for i in range(length)]
    lines += [f"  %y = nn.add %x, %c{length} : (tensor<4xf32, #B>, tensor<4xf32>) -> tensor<4xf32>",
              "  return %y : tensor<4xf32>", "}"]
    return "\n".join(lines)


def mlp(layers, ranks):
    lines = [f'#p = #sbp.placement<"cpu", [dp = {ranks}]>', "#S0 = #sbp.nd<#p, [S(0)]>"]
    for i in range(layers):
        lines += [f"sbp.variable @l{i}.w : tensor<16x16xf32>", f"sbp.variable @l{i}.b : tensor<16xf32>"]
    lines.append("func.func @train(%h0: tensor<1536x16xf32, #S0>) -> tensor<f32> {")
    for i in range(layers):
        signature = ", #S0" if i == 0 else ""
        lines += [f"  %w{i} = sbp.read @l{i}.w : tensor<16x16xf32>", f"  %b{i} = sbp.read @l{i}.b : tensor<16xf32>",
                  f"  %m{i} = nn.matmul %h{i}, %w{i} : (tensor<1536x16xf32{signature}>, tensor<16x16xf32>) -> "
                  "tensor<1536x16xf32>",
                  f"  %a{i} = nn.add %m{i}, %b{i} : (tensor<1536x16xf32>, tensor<16xf32>) -> tensor<1536x16xf32>",
                  f"  %h{i + 1} = nn.gelu %a{i} : (tensor<1536x16xf32>) -> tensor<1536x16xf32>"]
    lines += [f"  %l = nn.reduce_sum %h{layers} {{dims = array<i64: 0, 1>}} : (tensor<1536x16xf32>) -> tensor<f32>",
              "  nn.minimize %l : tensor<f32> with #nn.adam<lr = 0.1, beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8>",
              "  return %l : tensor<f32>", "}"]
    return "\n".join(lines)


class GrowthTest(unittest.TestCase):
    def testAWayIsNotAnOp(self):
        def twice(i):
            return f"%c{i + 1} = nn.add %c{i}, %c{i} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"

        for length in (40, 400):
            self.assertEqual(opsOf(chain(length, twice), "--enable-zero=stage=0"), length + 2)

    def testAChainNeedsNoStack(self):
        def negated(i):
            return f"%c{i + 1} = nn.neg %c{i} : (tensor<4xf32>) -> tensor<4xf32>"

        self.assertEqual(opsOf(chain(20000, negated), "--enable-zero=stage=0"), 20002)

    def testKernelsOfManyResults(self):
        # Each is the sum of the two before it, so that there are Fibonacci's number of ways from the last to the first.
        length = 60
        tensor = "tensor<8x16xf32>"
        lines = ['#B = #sbp.nd<#sbp.placement<"cpu", [dp = 1]>, [B]>',
                 f"func.func @f(%x: tensor<8x16xf32, #B>) -> ({', '.join([tensor] * length)}) {{",
                 f"  %v0 = nn.softmax %x : (tensor<8x16xf32, #B>) -> {tensor}"]
        lines += [f"  %v{i} = nn.add %v{i - 1}, %v{max(0, i - 2)} : ({tensor}, {tensor}) -> {tensor}" for i in range(1, length)]
        lines += [f"  return {', '.join(f'%v{i}' for i in range(length))} : {', '.join([tensor] * length)}", "}"]
        self.assertGreater(opsOf("\n".join(lines), "--enable-zero=stage=0", *LOCAL, "--exec-lower"), length)

    def testTwiceTheLayers(self):
        for zero in ("stage=0", "stage=1", "stage=3", "stage=3 strategy=tensor"):
            for level in ([], LOCAL, LOCAL + ["--exec-lower"]):
                passes = [f"--enable-zero={zero}", *level]
                few, many = opsOf(mlp(16, 2), *passes), opsOf(mlp(32, 2), *passes)
                self.assertLessEqual(many, 2 * few, passes)
                self.assertGreaterEqual(many, 1.3 * few, passes)  # kernels are shared

    def testMoreRanks(self):
        for zero in ("stage=1", "stage=3", "stage=3 strategy=tensor"):
            passes = [f"--enable-zero={zero}", *LOCAL]
            self.assertLessEqual(opsOf(mlp(8, 512), *passes), 1.1 * opsOf(mlp(8, 2), *passes), passes)


if __name__ == "__main__":
    OPT = sys.argv.pop(1)
    unittest.main()
