"""Versions of cc_library, cc_binary and cc_test that use a precompiled header, for sources that include MLIR's headers.

The folder of a target decides which precompiled header it uses (_FOLDERS). Targets in other folders, also in another
workspace that uses Splitcast, use that of compiler/; tests use that of tests, wherever they are.
"""

load(":precompiled_header.bzl", "use_precompiled")

_FOLDERS = {
    "dialects": "dialects",
    "passes": "dialects",
    "runtime": "runtime",
}

def _build(rule, testonly = False, deps = [], copts = [], **kwargs):
    folder = _FOLDERS.get(native.package_name().split("/")[0], "compiler")
    header = Label("//third_party/precompiled:" + ("tests" if testonly else folder))
    rule(
        copts = copts + use_precompiled(header),
        deps = deps + [header],
        testonly = testonly,
        **kwargs
    )

def mlir_library(**kwargs):
    _build(native.cc_library, **kwargs)

def mlir_binary(**kwargs):
    _build(native.cc_binary, **kwargs)

def mlir_test(**kwargs):
    _build(native.cc_test, testonly = True, **kwargs)
