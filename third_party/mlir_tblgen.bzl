"""Rules that run Debian's mlir-tblgen."""

_TBLGEN = "/usr/lib/llvm-19/bin/mlir-tblgen"

# Where this repository's files are in an action, whichever workspace runs it.
_ROOT = Label("//third_party:mlir_tblgen.bzl").workspace_root or "."

def tblgen_command(flags, td_file):
    """The command of a genrule that prints what a generator makes of a .td file, a label of its srcs."""
    return "%s %s -I /usr/lib/llvm-19/include -I %s $(location %s)" % (_TBLGEN, flags, _ROOT, td_file)

def gentbl(name, td_file, outs, td_srcs = []):
    """Generates `outs`, a map from file name to the generator's flags, from one .td file."""
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
    """The usual generated files of a dialect: NameDialect.h.inc, NameOps.h.inc and so on.

    op_interfaces and attr_interfaces are the .td files that define them, which generate by themselves."""
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

# What comes behind "### `name`" in the documentation of an op is "_its summary_".
_SUMMARIES = r"""
/^### `/ { name = $$2; gsub(/`/, "", name) }
/^_.*_$$/ && name != "" {
  summary = substr($$0, 2, length($$0) - 2)
  gsub(/[\\"]/, "\\\\&", summary)
  printf "{\"%s\", \"%s\"},\n", name, summary
  name = ""
}"""

def op_summaries(name, td_files, td_srcs, out):
    """Generates a line {"dialect.op", "its summary"}, for each op of the .td files, whose paths begin at the root."""
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
