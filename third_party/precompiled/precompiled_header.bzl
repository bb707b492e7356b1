"""Precompiled headers: the headers that most sources include are parsed once, and not once per source.

precompiled_header(name, header, deps) compiles the header `header`, whose includes come from deps. A target that uses
it has the options of `use_precompiled` in its copts and the precompiled header in its deps. Its copts must not change
the language, the optimization level or the instruction set: clang rejects a header that was compiled with other ones.
Sources must still include what they use: clang-tidy, which does not use precompiled headers, fails otherwise.
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
        # The output has no paths of this machine and no times, so that equal headers give equal bytes. Then Bazel's
        # cache has what was compiled with them for another checkout, too.
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
        "deps": attr.label_list(providers = [CcInfo], doc = "The targets of the headers that it includes."),
        "header": attr.label(allow_single_file = [".h"], mandatory = True),
        "_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def use_precompiled(header):
    """Returns the options for sources that use the precompiled header with this label, in any repository."""
    path = "/".join([part for part in [header.workspace_root, header.package, header.name] if part])
    return ["-include-pch", "$(BINDIR)/{}.pch".format(path), "-Xclang", "-isysroot", "-Xclang", "."]
