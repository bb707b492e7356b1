"""Copies a Python package's files beside its extension, which is built, so that both are imported as one package."""

def _copied_impl(ctx):
    outputs = []
    for file in ctx.files.srcs:
        # The path of its source, in bazel-bin. A genrule cannot do that: its output would have the source's label.
        output = ctx.actions.declare_file(file.owner.name)
        ctx.actions.run_shell(
            inputs = [file],
            outputs = [output],
            command = 'cp "$1" "$2"',
            arguments = [file.path, output.path],
            mnemonic = "CopyFile",
        )
        outputs.append(output)
    return [DefaultInfo(files = depset(outputs), runfiles = ctx.runfiles(files = outputs))]

copied = rule(
    implementation = _copied_impl,
    attrs = {"srcs": attr.label_list(allow_files = True, doc = "source files of this folder or below")},
    doc = "The source files srcs, at the same paths in bazel-bin.",
)
