"""Rules that run Debian's mlir-tblgen."""

_TBLGEN = "/usr/lib/llvm-19/bin/mlir-tblgen"

# The path of this repository in an action, also if another workspace uses it.
_ROOT = Label("//third_party:mlir_tblgen.bzl").workspace_root or "."

def tblgen_command(flags, td_file):
    """Returns the command of a genrule that prints a generator's output for a .td file, a label in its srcs."""
    return "%s %s -I /usr/lib/llvm-19/include -I %s $(location %s)" % (_TBLGEN, flags, _ROOT, td_file)

def gentbl(name, td_file, outs, td_srcs = []):
    """Generates files from one .td file. `outs` maps their names to the generator's flags."""
    for out, flags in outs.items():
        native.genrule(
            name = name + "_" + out.replace(".", "_"),
            srcs = [td_file] + td_srcs,
            outs = [out],
            cmd = tblgen_command(flags, td_file) + " -o $@",
        )
    native.filegroup(
        name = name,
        srcs = [":" + name + "_" + out.replace(".", "_") for out in outs],
    )

def dialect_tbl(name, dialect, td_file, td_srcs = [], attrs = False, types = False, attr_interfaces = None, op_interfaces = None):
    """Generates the usual files of a dialect: NameDialect.h.inc, NameOps.h.inc and so on.

    op_interfaces and attr_interfaces are the .td files that define interfaces; their files are generated separately."""
    outs = {}
    prefix = name
    outs[prefix + "Dialect.h.inc"] = "-gen-dialect-decls -dialect=" + dialect
    outs[prefix + "Dialect.cpp.inc"] = "-gen-dialect-defs -dialect=" + dialect
    outs[prefix + "Ops.h.inc"] = "-gen-op-decls"
    outs[prefix + "Ops.cpp.inc"] = "-gen-op-defs"
    if attrs:
        outs[prefix + "Attrs.h.inc"] = "-gen-attrdef-decls -attrdefs-dialect=" + dialect
        outs[prefix + "Attrs.cpp.inc"] = "-gen-attrdef-defs -attrdefs-dialect=" + dialect
    if types:
        outs[prefix + "Types.h.inc"] = "-gen-typedef-decls -typedefs-dialect=" + dialect
        outs[prefix + "Types.cpp.inc"] = "-gen-typedef-defs -typedefs-dialect=" + dialect
    gentbl(name + "_dialect_tbl", td_file, outs, td_srcs)
    groups = [":" + name + "_dialect_tbl"]
    for kind, file in [("op", op_interfaces), ("attr", attr_interfaces)]:
        if not file:
            continue
        stem = "%s%sInterfaces" % (prefix, kind.capitalize())
        gentbl("%s_%s_interface_tbl" % (name, kind), file, {
            stem + ".h.inc": "-gen-%s-interface-decls" % kind,
            stem + ".cpp.inc": "-gen-%s-interface-defs" % kind,
        }, td_srcs)
        groups.append(":%s_%s_interface_tbl" % (name, kind))
    native.filegroup(
        name = name + "_tbl",
        srcs = groups,
    )

# The documentation of an op has the heading "### `name`" and, after it, "_its summary_".
_SUMMARIES = r"""
/^### `/ { name = $$2; gsub(/`/, "", name) }
/^_.*_$$/ && name != "" {
  summary = substr($$0, 2, length($$0) - 2)
  gsub(/[\\"]/, "\\\\&", summary)
  printf "{\"%s\", \"%s\"},\n", name, summary
  name = ""
}"""

def op_summaries(name, td_files, td_srcs, out):
    """Generates a line {"dialect.op", "its summary"}, for each op of the .td files. Their paths begin at the root."""
    native.genrule(
        name = name,
        srcs = td_srcs,
        outs = [out],
        cmd = "for td in %s; do %s -gen-op-doc -I /usr/lib/llvm-19/include -I %s $$td || exit 1; done | awk '%s' > $@" % (
            " ".join([_ROOT + "/" + td for td in td_files]),
            _TBLGEN,
            _ROOT,
            _SUMMARIES,
        ),
    )
