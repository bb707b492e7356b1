"""Tests that start ranks as processes."""

load("//third_party/precompiled:mlir_rules.bzl", "mlir_test")

def ranks_test(name, srcs, size, suite = "fast", uses_mlir = False, deps = [], tags = [], **kwargs):
    """A GoogleTest that starts jobs (TrainingRuns.h). Its ranks take both CPUs that CI has, so no test runs beside it.

    Args:
      name: of the test.
      srcs: its sources.
      size: Bazel's.
      suite: "fast", "slow" or "exhaustive": tests/README.md.
      uses_mlir: whether a source includes MLIR.
      deps: what it needs besides TrainingRuns.h, Abseil and GoogleTest's main.
      tags: besides those of the suite.
      **kwargs: those of cc_test.
    """
    rule = mlir_test if uses_mlir else native.cc_test
    rule(
        name = name,
        size = size,
        srcs = srcs,
        tags = tags + (["cpu:2"] if suite == "fast" else ["cpu:2", suite]),
        deps = deps + [
            "//tests/examples:training_runs",
            "//third_party:absl",
            "//third_party:gtest_main",
        ],
        **kwargs
    )
