"""Tests that are .mlir files with RUN lines, which LLVM's lit runs: see tests/lit.cfg.py."""

def filecheck_tests(name, srcs):
    """One test per file, and a suite of them all.

    Args:
      name: of the suite.
      srcs: .mlir files of the package; the test of a.mlir is a_mlir.
    """
    tests = []
    for src in srcs:
        test = src.replace(".", "_")
        native.sh_test(
            name = test,
            size = "small",
            srcs = ["//tests/filecheck:lit.sh"],
            args = [
                "$(location //compiler/tools:splitcast-opt)",
                "$(location %s)" % src,
            ],
            data = [
                src,
                "//compiler/tools:splitcast-opt",
                "//tests/filecheck:lit_config",
            ],
        )
        tests.append(test)
    native.test_suite(
        name = name,
        tests = tests,
    )
