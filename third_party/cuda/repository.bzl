"""A repository of a CUDA toolkit with cuBLASLt, cuDNN and NCCL. It is that in CUDA_HOME, CUDA_PATH or /usr/local/cuda.

If a file is missing there, CUDA_FOUND is False and the repository is empty."""

_FILES = ["include/%s.h" % name for name in ["cuda_runtime_api", "cublasLt", "cudnn", "nccl"]] + ["lib64/lib%s.so" % name for name in ["cudart", "cublasLt", "cudnn", "nccl"]]

def _find(ctx):
    for variable in ["CUDA_HOME", "CUDA_PATH"]:
        if variable in ctx.os.environ:
            return ctx.os.environ[variable]
    return "/usr/local/cuda"

def _cuda_repository_impl(ctx):
    home = _find(ctx)
    found = all([ctx.path(home + "/" + name).exists for name in _FILES])
    ctx.file("found.bzl", "CUDA_FOUND = %s\n" % found)
    if not found:
        ctx.file("BUILD", "")
        return
    ctx.symlink(home + "/include", "include")
    ctx.file("BUILD", """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["include/**"]),
    includes = ["include"],
)

cc_library(
    name = "cuda",
    linkopts = ["-L{home}/lib64", "-Wl,-rpath,{home}/lib64", "-lcudart", "-lcublasLt", "-lcudnn", "-lnccl"],
    deps = [":headers"],
)
""".format(home = home))

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    environ = ["CUDA_HOME", "CUDA_PATH"],
    local = True,
)
