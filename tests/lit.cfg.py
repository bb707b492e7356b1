"""How LLVM's lit runs the .mlir tests below this folder. `config` and `lit_config` are lit's.

    lit=/usr/lib/llvm-19/build/utils/lit/lit.py
    python3 $lit tests/passes/global                         # with the splitcast-opt in bazel-bin
    python3 $lit --param splitcast_opt=PATH tests/passes     # with another one

Commands see splitcast-opt, FileCheck and not.
"""

import os
import sys
import tempfile

TESTS = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.join(os.path.dirname(TESTS), "bazel-bin")
LLVM_BIN = "/usr/lib/llvm-19/bin"

sys.path.insert(0, os.path.join(TESTS, "filecheck"))
from judged_test import JudgedTest

opt = os.path.abspath(lit_config.params.get("splitcast_opt", os.path.join(BIN, "compiler/tools/splitcast-opt")))
for tool in (opt, os.path.join(LLVM_BIN, "FileCheck"), os.path.join(LLVM_BIN, "not")):
    if not os.access(tool, os.X_OK):
        lit_config.fatal(
            f"{tool} does not exist: build splitcast-opt by 'bazel build //compiler/tools:splitcast-opt'; "
            "Debian's llvm-19-tools has the others"
        )

config.name = "splitcast"
config.test_format = JudgedTest()
config.suffixes = [".mlir"]
config.environment["PATH"] = os.pathsep.join([os.path.dirname(opt), LLVM_BIN, config.environment["PATH"]])
# Where the files named %t lie.
config.test_exec_root = os.environ.get("TEST_TMPDIR", os.path.join(tempfile.gettempdir(), f"splitcast_lit_{os.getuid()}"))
