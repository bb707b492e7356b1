"""Precompiled headers: what most sources include is parsed once, not once per source.

precompiled_header(name, header, deps) compiles the header `header`, whose includes come from deps. A target uses it with
the options of `use_precompiled` as copts and the target among its deps. Its own copts must not change the language, the
optimization level or the instruction set: clang refuses what was compiled in another way. Sources include what they use
all the same; clang-tidy, which sees no precompiled header, fails on those that do not.
"""

load("//third_party:compile_flags.bzl", "compileFlags", "cppToolchain")

def _precompiledHeaderImpl(ctx):
    context = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context
    flags, compiler = compileFlags(ctx, context)
    output = ctx.actions.declare_file(ctx.label.name + ".pch")
    ctx.actions.run(
        outputs = [output],
        inputs = depset(ctx.files.header, transitive = [context.headers, cppToolchain(ctx).all_files]),
        executable = compiler,
        # No path of this machine and no time is kept, so that equal headers give equal bytes: what is compiled with
        # them is found in Bazel's cache by another checkout, too.
        arguments = flags + [
            "-working-directory=/proc/self/cwd",
            "--relocatable-pch",
            "-Xclang",
            "-isysroot",
            "-Xclang",
            "/proc/self/cwd",
            "-Xclang",
            "-fno-pch-timestamp",
            "-fpch-instantiate-templates",
            "-x",
            "c++-header",
            ctx.file.header.path,
            "-o",
            output.path,
        ],
        mnemonic = "PrecompileHeader",
        progress_message = "Precompiling " + ctx.file.header.short_path,
        use_default_shell_env = True,
    )
    own = cc_common.create_compilation_context(headers = depset([output, ctx.file.header]))
    info = cc_common.merge_cc_infos(
        direct_cc_infos = [CcInfo(compilation_context = own)],
        cc_infos = [CcInfo(compilation_context = context)],
    )
    return [DefaultInfo(files = depset([output])), info]

precompiled_header = rule(
    implementation = _precompiledHeaderImpl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo], doc = "Where the headers come from that it includes."),
        "header": attr.label(allow_single_file = [".h"], mandatory = True),
        "_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def use_precompiled(header):
    """The options for sources that use the precompiled header of this label, in whichever repository it is."""
    path = "/".join([part for part in [header.workspace_root, header.package, header.name] if part])
    return ["-include-pch", "$(BINDIR)/{}.pch".format(path), "-Xclang", "-isysroot", "-Xclang", "."]
