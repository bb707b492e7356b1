#!/usr/bin/env python3
"""A pass that fails: each rank writes what repeats the error (--reproducer), and splitcast-reduce makes it small."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.getcwd()
TOOLS = os.path.join(ROOT, "compiler/tools")
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]

# Four layers, of which the third has an op that no loss can be differentiated through.
MODULE = """
#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
sbp.variable @x : tensor<8x6xf32, #B> init #sbp.constant<0.25> frozen
sbp.variable @w : tensor<6x6xf32, #B> init #sbp.constant<0.5>
func.func @main() -> tensor<f32> {
  %x = sbp.read @x : tensor<8x6xf32>
  %w = sbp.read @w : tensor<6x6xf32>
  %0 = nn.matmul %x, %w : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
  %1 = nn.tanh %0 : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %2 = nn.BAD %1, %0 : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %3 = nn.exp %2 : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %4 = nn.tanh %3 : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %loss = nn.reduce_sum %4 {dims = array<i64: 0, 1>} : (tensor<8x6xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.1>
  return %loss : tensor<f32>
}
"""
ERROR = "'nn.relu_grad' has no gradient"


def run(command, **kwargs):
    return subprocess.run(command, capture_output=True, text=True, timeout=60,
                          **kwargs)


class Reproducer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def train(self, module, *flags):
        with open(self.path("module.mlir"), "w", encoding="utf-8") as file:
            file.write(module)
        return run(MPIRUN + ["-n", "2", os.path.join(TOOLS, "splitcast-run"), self.path("module.mlir"), *flags])

    def failing(self):
        reproducer = self.path("r.mlir")
        result = self.train(MODULE.replace("nn.BAD", "nn.relu_grad"), "--reproducer=" + reproducer,
                            "--enable-zero=stage=2")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(ERROR, result.stderr)
        self.assertIn(f"reproducer generated at `{reproducer}.", result.stderr)
        return reproducer

    def test_each_rank_writes_what_repeats_its_error(self):
        reproducer = self.failing()
        for rank in "01":
            result = run([os.path.join(TOOLS, "splitcast-opt"), reproducer + "." + rank, "--run-reproducer"])
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(ERROR, result.stderr)
            # Names are kept beside the passes.
            again = run([os.path.join(TOOLS, "splitcast-opt"), reproducer + "." + rank, "--run-reproducer", "--keep-names"])
            self.assertNotEqual(again.returncode, 0)
            self.assertIn(ERROR, again.stderr)

    def test_nothing_is_written_without_an_error(self):
        good = self.train(MODULE.replace("nn.BAD", "nn.mul"), "--reproducer=" + self.path("r.mlir"))
        self.assertEqual(good.returncode, 0, good.stderr)
        self.assertEqual(os.listdir(self.folder.name), ["module.mlir"])

    def test_names_are_kept_of_one_module_alone(self):
        with open(self.path("module.mlir"), "w", encoding="utf-8") as file:
            file.write(MODULE.replace("nn.BAD", "nn.mul"))
        for flag in ("--split-input-file", "--verify-diagnostics"):
            result = run([os.path.join(TOOLS, "splitcast-opt"), self.path("module.mlir"), "--keep-names", flag])
            self.assertEqual(result.returncode, 1)
            self.assertIn("--keep-names cannot be combined with", result.stderr)

    def reduce(self, file, error):
        return run([os.path.join(TOOLS, "splitcast-reduce"), file, "--error=" + error])

    def test_the_module_is_made_small(self):
        result = self.reduce(self.failing() + ".0", ERROR)
        self.assertEqual(result.returncode, 0, result.stderr)
        ops = re.findall(r"= (nn\.\w+)", result.stdout)
        self.assertEqual(ops, ["nn.constant", "nn.matmul", "nn.relu_grad", "nn.reduce_sum"])
        with open(self.path("small.mlir"), "w", encoding="utf-8") as file:
            file.write(result.stdout)
        again = run([os.path.join(TOOLS, "splitcast-opt"), self.path("small.mlir"), "--run-reproducer"])
        self.assertNotEqual(again.returncode, 0)
        self.assertIn(ERROR, again.stderr)

    def test_what_cannot_be_reduced_is_said(self):
        reproducer = self.failing() + ".0"
        for file, error, said in ((self.path("none"), "x", "cannot open input file"),
                                  (reproducer, "another error", "give no error with 'another error'"),
                                  (self.path("module.mlir"), "x", "contains no passes")):
            result = self.reduce(file, error)
            self.assertEqual(result.returncode, 1)
            self.assertIn(said, result.stderr)
            self.assertEqual(result.stdout, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
