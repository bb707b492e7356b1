"""Pages of docs/reference, as mlir-tblgen makes them of .td files."""

load("//third_party:mlir_tblgen.bzl", "tblgen_command")

def reference_page(name, generators, td_srcs = [], title = ""):
    """The target reference_NAME, which makes reference/NAME.md.

    Args:
      name: of the page.
      generators: the parts of the page, in order: a map from .td file to the generator's flags.
      td_srcs: what the .td files include.
      title: where the generator gives none.
    """
    native.genrule(
        name = "reference_" + name,
        srcs = generators.keys() + td_srcs,
        outs = ["reference/%s.md" % name],
        cmd = "(%s) | python3 -B $(location reference_page.py) '%s' > $@" % (
            " && ".join([tblgen_command(flags, td_file) for td_file, flags in generators.items()]),
            title,
        ),
        tools = ["reference_page.py"],
    )
