#!/usr/bin/env python3
"""Bytecode is refused by every program that reads modules, wherever it lies in a file, unless it is allowed."""
import os
import subprocess
import tempfile
import unittest

TOOLS = os.path.join(os.getcwd(), "compiler/tools")
MODULE = """#p = #sbp.placement<"cpu", [dp = 1]>
sbp.variable @w : tensor<4xf32, #sbp.nd<#p, [B]>> init #sbp.constant<0.5>
func.func @main() -> tensor<f32> {
  %w = sbp.read @w : tensor<4xf32>
  %sum = nn.reduce_sum %w {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %sum : tensor<f32>
}
"""


def run(tool, *arguments):
    return subprocess.run([os.path.join(TOOLS, tool), *arguments], capture_output=True, timeout=60)


class Bytecode(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.text = self.write("module.mlir", MODULE.encode())
        self.bytecode = run("splitcast-opt", self.text, "--emit-bytecode").stdout
        self.assertEqual(self.bytecode[:4], b"ML\xefR")

    def write(self, name, contents):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(contents)
        return path

    def refuse(self, says, tool, *arguments):
        result = run(tool, *arguments)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(f"{says}, whose reader may crash or corrupt memory".encode(), result.stderr)
        self.assertIn(b"add --allow-bytecode", result.stderr)
        self.assertEqual(result.stdout, b"")

    def test_is_refused_by_every_reader(self):
        path = self.write("module.mlirbc", self.bytecode)
        for tool, *arguments in (("splitcast-opt",), ("splitcast-opt", "--keep-names"),
                                 ("splitcast-opt", "--split-input-file"), ("splitcast-run",), ("splitcast-kernels",),
                                 ("splitcast-reduce", "--error=x")):
            with self.subTest(tool=tool, arguments=arguments):
                self.refuse(f"'{path}' is MLIR bytecode", tool, path, *arguments)
        self.refuse(f"'{path}' is MLIR bytecode", "splitcast-opt", self.text, f"--irdl-file={path}")

    def test_is_refused_behind_text(self):
        text = MODULE.encode() + b"// -----\n"
        path = self.write("two.mlir", text + self.bytecode)
        self.refuse(f"'{path}' has MLIR bytecode at byte {len(text)}", "splitcast-opt", path, "--split-input-file")

    def test_is_read_if_it_is_allowed(self):
        path = self.write("module.mlirbc", self.bytecode)
        as_text = run("splitcast-opt", path, "--allow-bytecode")
        self.assertEqual(as_text.returncode, 0, as_text.stderr)
        self.assertEqual(as_text.stdout, run("splitcast-opt", self.text).stdout)
        self.assertEqual(run("splitcast-run", path, "--allow-bytecode", "--steps=1").returncode, 0)


if __name__ == "__main__":
    unittest.main()
