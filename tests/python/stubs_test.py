#!/usr/bin/env python3
"""What the package says of its types, in _splitcast.pyi, is what the extension has and takes."""
import ast
import builtins
import inspect
import os
import re
import unittest

import splitcast as sc
from splitcast import _splitcast

PACKAGE = os.path.dirname(sc.__file__)


def public(names):
    return {name for name in names if not name.startswith("_")}


def names_of(node):
    """A function's parameters but for self, with * and ** as they are written."""
    arguments = node.args
    names = [argument.arg for argument in arguments.posonlyargs + arguments.args]
    names += ["*" + arguments.vararg.arg] if arguments.vararg else ["*"] if arguments.kwonlyargs else []
    names += [argument.arg for argument in arguments.kwonlyargs]
    names += ["**" + arguments.kwarg.arg] if arguments.kwarg else []
    return [name for name in names if name != "self"]


def names_in(signature):
    """The same of a text of nanobind, read without Python's parser: 'f(a: X, *, b: list[int] = [1, 2]) -> Y'."""
    inside = signature[signature.index("(") + 1:signature.rindex(") ->")]
    depth, part, parts = 0, "", []
    for char in inside + ",":
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += char
    return [name for name in (re.match(r"\**\w*", part).group(0) for part in parts) if name not in ("", "self")]


def signatures(function):
    """The lines of a docstring before its text: a signature of each overload."""
    return function.__doc__.partition("\n\n")[0].split("\n")


class Stubs(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        with open(PACKAGE + "/_splitcast.pyi") as file:
            cls.text = file.read()
        cls.tree = ast.parse(cls.text)
        cls.classes = {node.name: node for node in cls.tree.body if isinstance(node, ast.ClassDef)}

    def functions(self, body):
        """{name: its overloads}"""
        found = {}
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found.setdefault(node.name, []).append(node)
        return found

    def names(self, body):
        values = {node.target.id for node in body if isinstance(node, ast.AnnAssign)}
        members = {node.targets[0].id for node in body if isinstance(node, ast.Assign)}
        return set(self.functions(body)) | {node.name for node in body if isinstance(node, ast.ClassDef)} | values | members

    def keywords(self, name, of=None):
        """{a keyword: its default} of the one function, as far as they have one."""
        node, = self.functions(self.classes[of].body if of else self.tree.body)[name]
        return {argument.arg: ast.literal_eval(default)
                for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults)}

    def test_are_found_by_editors(self):
        self.assertTrue(os.path.exists(PACKAGE + "/py.typed"))

    def test_have_each_name(self):
        self.assertEqual(public(self.names(self.tree.body)), public(vars(_splitcast)))
        for name, node in self.classes.items():
            self.assertEqual(public(self.names(node.body)), public(vars(getattr(_splitcast, name))), name)
        self.assertIn("__matmul__", self.names(self.classes["Tensor"].body))

    def check(self, name, function, nodes):
        found = [names_in(signature) for signature in signatures(function)]
        self.assertEqual(len(nodes), len(found), name)
        for node, expected in zip(nodes, found):
            self.assertEqual(names_of(node), expected, name)
            doc = ast.get_docstring(node)
            if doc:
                self.assertIn(doc, inspect.cleandoc(function.__doc__), name)

    def test_have_the_parameters_of_the_docstrings(self):
        count = 0
        bodies = [(_splitcast, self.tree.body)] + [(getattr(_splitcast, name), node.body)
                                                   for name, node in self.classes.items()]
        for owner, body in bodies:
            for name, nodes in self.functions(body).items():
                if not any(getattr(each, "id", "") == "property" for each in nodes[0].decorator_list):
                    self.check(f"{owner.__name__}.{name}", getattr(owner, name), nodes)
                    count += 1
        self.assertGreater(count, 100)
        self.assertIn(
            "def matmul(a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:",
            self.text)

    def test_have_the_options_that_graphs_take(self):
        graph = sc.Graph()
        loss = sc.sum(graph.input("x", sc.f32, (2,)))
        for name, arguments in (("minimize", (loss, sc.Sgd(0.1))), ("variable", ("w", (2,), sc.Init.zeros()))):
            options = self.keywords(name, "Graph")
            self.assertEqual(set(options.values()), {None})
            with self.assertRaisesRegex(ValueError, "it has {}$".format(", ".join(options))):
                getattr(graph, name)(*arguments, nothing=1)

    def test_have_numbers_with_their_defaults(self):
        for of, first in ((sc.Optimizer, 0.5), (sc.RateSchedule, 2)):
            for name, nodes in self.functions(self.tree.body).items():
                if getattr(nodes[0].returns, "id", "") == of.__name__:
                    numbers = self.keywords(name)
                    function, first_name = getattr(sc, name), nodes[0].args.args[0].arg
                    self.assertEqual(repr(function(**{first_name: first}, **numbers)), repr(function(first)))
        scale = self.keywords("__init__", "LossScale")
        self.assertEqual(list(scale), ["initial", "growth", "backoff", "interval"])
        self.assertEqual(repr(sc.LossScale(**scale)), repr(sc.LossScale()))

    def test_name_types_that_are_there(self):
        imported = {alias.name.partition(".")[0] for node in self.tree.body
                    if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names}
        used = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        self.assertEqual(used - self.names(self.tree.body) - set(dir(builtins)) - imported, set())
        self.assertNotIn("::", self.text)  # a type of C++ that nanobind does not convert
        self.assertIn("layout: Layout | Sbp | Sequence[Sbp] = Layout()", self.text)
        self.assertIn("groups: Sequence[ParameterGroup] | None = None", self.text)
        self.assertIn("variables: Sequence[str] | None = None", self.text)
        self.assertIn("def read(self, name: str) -> numpy.typing.NDArray[Any]:", self.text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
