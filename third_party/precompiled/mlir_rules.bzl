"""cc_library, cc_binary and cc_test for sources that include MLIR, be it through headers of ours: these are precompiled.

Which precompiled header a target uses is said by its folder, here and nowhere else. What lies elsewhere, also in a
workspace that names Splitcast as a repository, uses the compiler's, and tests that with GoogleTest.
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
