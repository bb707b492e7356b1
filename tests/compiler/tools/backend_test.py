#!/usr/bin/env python3
"""The backend for GPUs is executed, so one that others may write is not loaded (runtime/io/InstalledFile.h)."""
import os
import subprocess
import tempfile
import unittest

RUN = os.path.join(os.getcwd(), "compiler/tools/splitcast-run")
MODULE = """#p = #sbp.placement<"cuda", [dp = 1]>
sbp.variable @w : tensor<4xf32, #sbp.nd<#p, [B]>>
func.func @main() -> tensor<4xf32> {
  %w = sbp.read @w : tensor<4xf32>
  return %w : tensor<4xf32>
}
"""


class Backend(unittest.TestCase):

    def test_is_looked_at_before_it_is_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text, mode in (("module.mlir", MODULE, 0o644), ("ours.so", "no library", 0o755),
                                     ("theirs.so", "no library", 0o777)):
                path = os.path.join(folder, name)
                with open(path, "w") as file:
                    file.write(text)
                os.chmod(path, mode)
            # A name without a slash is a file of this directory, and not what the loader would look for.
            for named, says in (("theirs.so", f"'{folder}/theirs.so' may be written by others (mode 777)"),
                                (folder, f"'{folder}' is not a regular file"),
                                ("ours.so", f"cannot be loaded: {folder}/ours.so")):
                result = subprocess.run([RUN, "module.mlir", "--device=cuda"], cwd=folder, capture_output=True, text=True,
                                        timeout=60, env={**os.environ, "SPLITCAST_CUDA_BACKEND": named})
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(says, result.stderr)


if __name__ == "__main__":
    unittest.main()
