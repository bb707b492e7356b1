#!/usr/bin/env python3
"""Types of the extension, for editors and mypy, from the extension: what it has is listed nowhere else.

    write_stubs.py splitcast/_splitcast.so BindGraph.cc BindValues.cc > splitcast/_splitcast.pyi

Names, parameters, defaults and docstrings are those that pybind11 gives. Keywords that a function takes as **kwargs are
read where they stand: an optimizer's numbers in its docstring, the options of Graph's methods in BindGraph.cc; and
BindValues.cc says which types are converted. What pybind11 calls an object or a dict, and is more, is in KNOWN. What is
written in another way than these is an error here, and so is never left out.
"""
import ast
import importlib.util
import re
import sys

MODULE = "splitcast._splitcast"

# Of a method's parameter, or of its result: "Graph.group.policy", "Session.read".
POLICY = "Union[int, str, Dict[str, Any]]"
ARRAYS = "Dict[str, NDArray[Any]]"
KNOWN = {
    "Graph.__init__.mesh": "Optional[Dict[str, int]]",
    "Graph.group.policy": POLICY,
    "Graph.compile.enable_zero": "Optional[%s]" % POLICY,
    "Session.run": ARRAYS,
    "Session.step": ARRAYS,
    "Session.inputs": "Dict[str, Dict[str, Any]]",
    "Session.outputs": "Dict[str, Dict[str, Any]]",
    "Session.input": "NDArray[Any]",
    "Session.report": "Dict[str, Any]",
    "Session.variables": "Dict[str, Tuple[ElementType, Tuple[int, ...]]]",
    "Session.read": "NDArray[Any]",
    "Tensor.shape": "Tuple[int, ...]",
    "Tensor.dtype": "Optional[ElementType]",
}

# What BindGraph.cc makes of an option's value.
OF_CPP = {"int64_t": "int", "double": "float", "bool": "bool", "std::string": "str"}
OF_FUNCTION = {"policyOf": POLICY, "orderOf": "str"}

HEADER = '''"""Made by write_stubs.py."""
from typing import Any, ClassVar, Dict, List, Optional, Sequence, Tuple, Union, overload

from numpy.typing import NDArray
'''


def fail(message):
    raise SystemExit("write_stubs: error: " + message)


def load(path):
    """The extension alone, without the package."""
    spec = importlib.util.spec_from_file_location(MODULE, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- What the sources say ----


def python_type(cpp):
    match = re.fullmatch(r"std::vector<(.*)>", cpp)
    if match:
        return "Sequence[%s]" % python_type(match.group(1))
    return OF_CPP.get(cpp, cpp)


def options_of(text):
    """{method: [(keyword, type)]} of the tables of options."""
    tables = {}
    for table, body in re.findall(r"constexpr Option<\w+> (\w+)\[\] = \{\n(.*?)\n\};", text, re.DOTALL):
        tables[table] = []
        rows = re.findall(r'\{"(\w+)",[^{]*\{ to\.\w+ = (?:of\.cast<(.*?)>\(\)|(\w+)\(of\)); \}\}',
                          " ".join(body.split()))
        for name, cast, function in rows:
            if function and function not in OF_FUNCTION:
                fail("the option '%s' is what %s makes of it, of which OF_FUNCTION does not say what it takes" %
                     (name, function))
            tables[table].append((name, python_type(cast) if cast else OF_FUNCTION[function]))
        if len(rows) != body.count('{"'):
            fail("of %s, only %s are {NAME, a lambda that sets one field to of.cast<TYPE>() or to FUNCTION(of)}" %
                 (table, ", ".join(row[0] for row in rows)))
    used = re.findall(r'optionsOf<\w+>\("(\w+)", (\w+), \w+\)', text)
    if not used or {table for _, table in used} != set(tables):
        fail("the tables of options are %s, and methods have %s" % (sorted(tables), used))
    return {method: tables[table] for method, table in used}


def converted_of(text):
    """Classes that C++ makes of other values where it is given those."""
    found = re.findall(r"py::implicitly_convertible<[\w:]+, (\w+)>\(\)", text)
    if len(found) != text.count("implicitly_convertible"):
        fail("a call of implicitly_convertible is not of <FROM, CLASS>")
    return set(found)


# ---- Signatures ----


class Signature:
    """A function of pybind11, of its docstring."""

    def __init__(self, line, doc):
        text = line.replace(MODULE + ".", "")
        text = re.sub(r"= <[^<>]*(?:<[^<>]*>[^<>]*)*>", "= ...", text)  # a default without a text of its own
        text = re.sub(r"\bhandle\b", "object", text)
        try:
            self.node = ast.parse("def %s: ..." % text).body[0]
        except SyntaxError:
            fail("the signature '%s' is not one of Python" % line)
        self.doc = doc.strip()


def signatures(function, name):
    """Each overload."""
    doc = function.__doc__
    if not doc:
        fail("'%s' has no docstring, which pybind11 begins with its signature" % name)
    first, _, rest = doc.partition("\n")
    if not rest.startswith("Overloaded function."):
        return [Signature(first, rest)]
    parts = re.split(r"^\d+\. (?=%s\()" % first.partition("(")[0], rest, flags=re.MULTILINE)[1:]
    return [Signature(*part.partition("\n")[::2]) for part in parts]


class Stubs:

    def __init__(self, module, options, converted):
        self.module = module
        self.options = options
        self.unused = set(KNOWN)
        self.lines = []
        self.accepts = {}  # by class, what is taken for one of it
        for name in sorted(converted):
            self.accepts[name] = self._accepted(name)

    def _accepted(self, name):
        """The class, or what a constructor of it makes one of."""
        types = [name]
        for signature in signatures(getattr(self.module, name).__init__, name):
            parameters = signature.node.args.args[1:]
            if len(parameters) == 1:
                types.append(as_parameter(ast.unparse(parameters[0].annotation), {}))
        return "Union[%s]" % ", ".join(types)

    def write(self):
        members = {name: value for name, value in vars(self.module).items() if not name.startswith("__")}
        for name, value in members.items():
            if isinstance(value, type):
                self._class(name, value)
            elif callable(value):
                self._function(name, value, "", "")
            else:
                self._line("", "%s: %s" % (name, type(value).__name__))
        if self.unused:
            fail("KNOWN has %s, of which the extension has nothing" % ", ".join(sorted(self.unused)))
        return HEADER + "\n".join(self.lines) + "\n"

    def _line(self, indent, text):
        self.lines.append(indent + text if text else "")

    def _doc(self, indent, text):
        if not text:
            return
        text = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
        if text.endswith('"'):
            text = text[:-1] + '\\"'
        for line in ('"""%s"""' % text).split("\n"):
            self._line(indent, line)

    def _class(self, name, value):
        self._line("", "\nclass %s:" % name)
        self._doc("    ", (value.__doc__ or "").strip())
        members = getattr(value, "__members__", {})  # of an enumeration
        for member, what in vars(value).items():
            if member in members:
                self._line("    ", "%s: ClassVar[%s]" % (member, name))
            elif type(what) is property:
                self._property(name, member, what)
            elif is_bound(what):
                self._function(member, getattr(value, member), "    ", name, isinstance(what, staticmethod))
        self._line("    ", "...")

    def _property(self, of, name, what):
        signature = Signature(re.sub(r"^\w*\(", name + "(", what.fget.__doc__.strip()), "")
        result = self._known("%s.%s" % (of, name), as_result(signature.node.returns))
        doc = (what.__doc__ or "").strip()
        self._line("", "")
        self._line("    ", "@property")
        self._line("    ", "def %s(self) -> %s:" % (name, result))
        self._doc("        ", doc if not doc.startswith(name + "(") else "")
        self._line("        ", "...")

    def _known(self, key, otherwise):
        self.unused.discard(key)
        return KNOWN.get(key, otherwise)

    def _function(self, name, function, indent, of, is_static=False):
        found = signatures(function, name)
        for signature in found:
            self._line("", "")
            if len(found) > 1:
                self._line(indent, "@overload")
            if is_static:
                self._line(indent, "@staticmethod")
            parameters = self._parameters(signature, name, of, is_static)
            result = self._known("%s.%s" % (of, name), as_result(signature.node.returns))
            self._line(indent, "def %s(%s) -> %s:" % (name, ", ".join(parameters), result))
            self._doc(indent + "    ", signature.doc)
            self._line(indent + "    ", "...")

    def _parameters(self, signature, name, of, is_static):
        arguments = signature.node.args
        numbers = numbers_of(signature.doc) if arguments.kwarg else []
        if arguments.vararg:  # an optimizer, or another class of numbers, of which the first may be without its name
            if not numbers:
                fail("'%s' takes *args, and its docstring has no line 'Numbers: ...'" % name)
            return [numbers[0], "*"][:len(numbers)] + numbers[1:]
        texts = []
        positional, keywords = list(arguments.args), list(arguments.kwonlyargs)
        defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
        if of and not is_static:
            texts.append("self")
            positional, defaults = positional[1:], defaults[1:]
        for argument, default in zip(positional, defaults):
            texts.append(self._parameter(argument, default, of, name))
        options = self.options.get(name, []) if of == "Graph" else []
        added = numbers + ["%s: Optional[%s] = None" % (keyword, as_parameter(kind, self.accepts))
                           for keyword, kind in options]
        if keywords or added:
            texts.append("*")
        texts += [self._parameter(*each, of, name) for each in zip(keywords, arguments.kw_defaults)] + added
        if arguments.kwarg and not added:
            texts.append("**%s: Any" % arguments.kwarg.arg)
        return texts

    def _parameter(self, argument, default, of, function):
        kind = self._known("%s.%s.%s" % (of, function, argument.arg),
                           as_parameter(ast.unparse(argument.annotation), self.accepts))
        return "%s: %s%s" % (argument.arg, kind, " = " + ast.unparse(default) if default else "")


def is_bound(what):
    """Whether this is a function of pybind11: not Python's own __init__, of a class that nobody makes, and no text."""
    return isinstance(what, staticmethod) or type(what).__name__ == "instancemethod"


def numbers_of(doc):
    """'lr: float', 'beta1: float = 0.9', ... of a docstring that says 'Numbers: lr, beta1=0.9'."""
    match = re.search(r"^Numbers: ((?:\w+(?:=[-+.\w]*\w)?(?:, |(?=;|$)))+)", doc, re.MULTILINE)
    numbers = [part.partition("=") for part in match.group(1).split(", ")] if match else []
    return ["%s: float%s" % (name, " = " + default if default else "") for name, _, default in numbers]


def as_result(annotation):
    """pybind11's types of what is given back; nothing is known of an object."""
    text = ast.unparse(annotation)
    return "Any" if text == "object" else {"dict": "Dict[str, Any]", "tuple": "Tuple[Any, ...]"}.get(text, text)


def as_parameter(text, accepts):
    """pybind11's types of what is taken: a sequence is as good as a list."""
    text = re.sub(r"\bList\b", "Sequence", text)
    return re.sub(r"\w+", lambda match: accepts.get(match.group(0), match.group(0)), text)


def main():
    if len(sys.argv) != 4:
        fail("write it as write_stubs.py EXTENSION BindGraph.cc BindValues.cc")
    extension, graph, values = sys.argv[1:]
    with open(graph) as file:
        options = options_of(file.read())
    with open(values) as file:
        converted = converted_of(file.read())
    text = Stubs(load(extension), options, converted).write()
    ast.parse(text)
    print(text, end="")


if __name__ == "__main__":
    main()
