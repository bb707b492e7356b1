"""clang-tidy as Bazel actions: one per source, so that only what changed is checked again.

tidy_test(name, deps) checks the sources of deps and of all that these depend on, in this repository. It fails on any
finding, and when a source under the folders in `complete` is reached by none of deps. With `reach_only`, clang-tidy
does not run and only the latter is checked, which takes no time.
"""

load("//third_party:compile_flags.bzl", "compileFlags")

TidyInfo = provider(
    "What clang-tidy said.",
    fields = {
        "reports": "depset of files, one per source; empty ones are good",
        "sources": "depset of the paths of the sources checked",
    },
)

def _compilationContext(target, ctx):
    if CcInfo in target:
        return target[CcInfo].compilation_context

    # A binary exports nothing; it is compiled with what it depends on.
    infos = [dep[CcInfo] for dep in ctx.rule.attr.deps if CcInfo in dep]
    return cc_common.merge_cc_infos(cc_infos = infos).compilation_context

def _copts(ctx):
    # Sources are judged without precompiled headers, so that what one does not include is missed.
    all = getattr(ctx.rule.attr, "copts", [])
    return all if "-include-pch" not in all else all[:all.index("-include-pch")]

def _check(ctx, source, context, flags):
    report = ctx.actions.declare_file("{}.{}.tidy".format(ctx.rule.attr.name, source.basename))
    ctx.actions.run(
        outputs = [report],
        inputs = depset([source, ctx.file._config], transitive = [context.headers]),
        executable = ctx.executable._tidy,
        arguments = [report.path, ctx.file._config.path, source.path] + flags,
        mnemonic = "ClangTidy",
        progress_message = "Checking {} with clang-tidy".format(source.short_path),
        use_default_shell_env = True,
    )
    return report

def _tidyAspectImpl(target, ctx):
    below = [dep[TidyInfo] for dep in getattr(ctx.rule.attr, "deps", []) if TidyInfo in dep]
    reports = []
    sources = []
    if ctx.rule.kind.startswith("cc_") and not target.label.workspace_root:
        context = _compilationContext(target, ctx)
        flags, _ = compileFlags(ctx, context, _copts(ctx))
        for label in ctx.rule.attr.srcs if hasattr(ctx.rule.attr, "srcs") else []:
            for source in label.files.to_list():
                if source.extension == "cc":
                    reports.append(_check(ctx, source, context, flags))
                    sources.append(source.short_path)
    return [TidyInfo(
        reports = depset(reports, transitive = [info.reports for info in below]),
        sources = depset(sources, transitive = [info.sources for info in below]),
    )]

tidyAspect = aspect(
    implementation = _tidyAspectImpl,
    attr_aspects = ["deps"],
    attrs = {
        "_config": attr.label(default = "//:.clang-tidy", allow_single_file = True),
        "_tidy": attr.label(default = "//tests/lint:tidy", executable = True, cfg = "exec"),
        "_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def _tidyTestImpl(ctx):
    reports = depset(transitive = [] if ctx.attr.reach_only else [dep[TidyInfo].reports for dep in ctx.attr.deps])
    sources = depset(transitive = [dep[TidyInfo].sources for dep in ctx.attr.deps])
    list = ctx.actions.declare_file(ctx.label.name + ".sources")
    ctx.actions.write(list, "".join([path + "\n" for path in sources.to_list()]))
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    arguments = [ctx.file._report.short_path, list.short_path, str(ctx.attr.expected), ",".join(ctx.attr.complete + ["-" + path for path in ctx.attr.exempt])]
    command = " ".join(["'{}'".format(argument) for argument in arguments])
    paths = "".join([report.short_path + "\n" for report in reports.to_list()])
    ctx.actions.write(
        script,
        "#!/bin/sh\nexec python3 -B {} <<'REPORTS'\n{}REPORTS\n".format(command, paths),
        is_executable = True,
    )
    return [DefaultInfo(
        executable = script,
        runfiles = ctx.runfiles([list, ctx.file._report] + ctx.files._modules, transitive_files = reports),
    )]

_tidy_test = rule(
    implementation = _tidyTestImpl,
    attrs = {
        "complete": attr.string_list(doc = "Folders of which every source must be reached."),
        "exempt": attr.string_list(doc = "Beginnings of paths in these folders that need not be reached."),
        "deps": attr.label_list(aspects = [tidyAspect], doc = "Targets whose sources are checked, with all below them."),
        "expected": attr.int(default = 0, doc = "How many findings there must be: the check's own test has some."),
        "reach_only": attr.bool(default = False, doc = "Whether clang-tidy is left out, and its findings are."),
        "_modules": attr.label_list(default = ["//tests/lint:sources.py"], allow_files = True),
        "_report": attr.label(default = "//tests/lint:tidy_report.py", allow_single_file = True),
    },
    test = True,
)

def tidy_test(name, tags = [], **kwargs):
    # The folders of `complete` are read from the real tree, which Bazel does not watch.
    _tidy_test(name = name, tags = tags + ["external", "local"], **kwargs)
