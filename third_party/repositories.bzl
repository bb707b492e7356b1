"""The repositories with which Splitcast is built, for its own WORKSPACE and for that of any project that uses it."""

load("//third_party/cuda:repository.bzl", "cuda_repository")

def _folder_repository_impl(ctx):
    for file in ctx.path(ctx.attr.build_file).dirname.readdir():
        ctx.symlink(file, file.basename)

# Makes a repository of the folder of this one that has `build_file`. local_repository would need the folder's path,
# which only the WORKSPACE that uses Splitcast knows.
_folder_repository = repository_rule(
    implementation = _folder_repository_impl,
    attrs = {"build_file": attr.label(mandatory = True)},
    local = True,
)

def _python_repository_impl(ctx):
    stable = ctx.os.environ.get("SPLITCAST_STABLE_PYTHON", "")
    ctx.symlink(stable or "/usr/include/python3.11", "include")
    ctx.template("BUILD", ctx.attr.build_file, {
        "%{defines}": "\"Py_LIMITED_API=0x030C0000\"" if stable else "",
    })

# The headers of Debian 12's Python; or those in the folder SPLITCAST_STABLE_PYTHON, of any Python from 3.12, and then
# extensions use its stable ABI alone (scripts/wheel.sh).
_python_repository = repository_rule(
    implementation = _python_repository_impl,
    attrs = {"build_file": attr.label(mandatory = True)},
    environ = ["SPLITCAST_STABLE_PYTHON"],
    local = True,
)

def splitcast_repositories():
    """Adds all repositories. Nothing is downloaded: two are a few lines each, and the others are Debian's packages."""

    # Bazel 4.2 downloads these unless repositories with their names exist.
    for name in ["rules_cc", "remote_coverage_tools"]:
        _folder_repository(
            name = name,
            build_file = Label("//third_party/%s:BUILD" % name),
        )
    for name, path in {
        "platforms": "/usr/share/bazel/tools/platforms",
        "rules_java": "/usr/share/bazel/rules/java",
        "rules_proto": "/usr/share/bazel/rules/proto",
    }.items():
        native.local_repository(
            name = name,
            path = path,
        )
    for name, path in {
        "llvm": "/usr/lib/llvm-19",
        "nanobind": "/usr/share/nanobind",
        "openmpi": "/usr/lib/x86_64-linux-gnu/openmpi",
    }.items():
        native.new_local_repository(
            name = name,
            build_file = str(Label("//third_party:%s.BUILD" % name)),
            path = path,
        )

    _python_repository(
        name = "python",
        build_file = Label("//third_party:python.BUILD"),
    )

    # CUDA is optional: without it, the targets that use it do not exist.
    cuda_repository(name = "cuda")
