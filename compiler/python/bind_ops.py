#!/usr/bin/env python3
"""Generates the bindings of Python's ops from the C++ headers, so that ops are declared in one place.

    bind_ops.py compiler/graph/Graph.h dialects/nn/Optimizers.h dialects/nn/RateSchedules.h > Ops.inc

Each function in Graph.h after the banner 'Ops' becomes a function of the module, with its names in Python's spelling
(softmaxCrossEntropy, transposeA: softmax_cross_entropy, transpose_a), its defaults, and its comment as docstring. A
struct of options becomes keywords. In the other two headers, each struct with a kName becomes a function that takes the
struct's numbers as keywords. A declaration in any other form is an error, so that none is silently left out.
"""
from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import NoReturn

Field = tuple[str, str, str, str]  # of a struct of options: its type, name, default and comment

# The types of the bound lambda's parameters, by C++ parameter type. nanobind or Conversions.h converts them.
TAKEN_AS = {
    "const Tensor &": "const Tensor &",
    "const std::vector<Tensor> &": "std::vector<Tensor>",
    "ElementType": "ElementType",
    "const sbp::Shape &": "std::vector<int64_t>",
    "const std::vector<int64_t> &": "std::vector<int64_t>",
    "std::vector<int64_t>": "std::vector<int64_t>",
    "const std::string &": "std::string",
    "const Layout &": "const LayoutLike &",
    "std::optional<int64_t>": "std::optional<int64_t>",
    "std::optional<double>": "std::optional<double>",
    "std::optional<Init>": "std::optional<Init>",
    "int64_t": "int64_t",
    "double": "double",
    "bool": "Truth",
}


def fail(message: str) -> NoReturn:
    sys.exit("bind_ops: error: " + message)


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match.group(1).lower(), name).lower()


def in_python(comment: list[str], names: list[str]) -> str:
    """The text of a comment, with the C++ `names` in Python's spelling."""
    text = " ".join(line.strip().lstrip("/").strip() for line in comment)
    for name in names:
        if snake(name) != name:
            text = re.sub(rf"\b{name}\b", snake(name), text)
    return text


def literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def statements(text: str, origin: str) -> Iterator[tuple[list[str], str]]:
    """Yields (comment, code) for each declaration; a whole struct is one declaration."""
    comment: list[str] = []
    code, depth = "", 0
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("//") and not code:
            if not stripped.startswith("///"):  # describes a group of functions, none in particular
                comment = []
                continue
            comment.append(stripped)
            continue
        if not stripped and not code:
            comment = []
            continue
        # Comments on the fields of a struct stay in the code: parse_options() reads them.
        code += line + "\n"
        depth += stripped.split("//")[0].count("{") - stripped.split("//")[0].count("}")
        if depth == 0 and stripped.split("//")[0].rstrip().endswith(";"):
            yield comment, code
            comment, code = [], ""
    if code.strip():
        fail(f"{origin} ends within the declaration '{code.strip().splitlines()[0]}'")


def split_top(text: str) -> list[str]:
    """Splits the text at commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char in "<({":
            depth += 1
        elif char in ">)}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [part.strip() for part in parts + [text[start:]] if part.strip()]


def parse_parameter(text: str, origin: str) -> tuple[str, str, str | None]:
    match = re.fullmatch(r"(.*?[ &])(\w+)(?: = (.*))?", text)
    if not match:
        fail(f"{origin} has a parameter '{text}'; it must have the form TYPE NAME or TYPE NAME = DEFAULT")
    return match.group(1).strip(), match.group(2), match.group(3)


def name_of(struct: str) -> str:
    """The name of a struct, from a text that begins with its declaration."""
    match = re.match(r"struct (\w+) \{", struct)
    return match.group(1) if match else fail(f"'{struct}' must have the form struct NAME {{")


def parse_options(code: str) -> tuple[str, list[Field]]:
    """The name of a struct of options, and (type, name, default, comment) of each field."""
    name = name_of(code)
    fields, doc = [], []
    for line in code.splitlines()[1:-1]:
        line = line.strip()
        if line.startswith("///"):
            doc.append(line)
            continue
        declaration, _, beside = line.partition("///<")
        declaration = declaration.strip()
        kind, rest = declaration.rstrip(";").split(" ", 1)
        for each in split_top(rest):
            field, _, default = each.partition(" = ")
            fields.append((kind, field, default, in_python(doc + ([beside] if beside else []), [])))
        doc = []
    return name, fields


def keyword(kind: str, field: str, default: str, origin: str) -> tuple[str, str, str]:
    """The lambda's parameter, the argument for nanobind, and the expression of the value, for one field."""
    if kind == "Tensor":
        return ("const std::optional<Tensor> &" + field, f'nb::arg("{snake(field)}") = nb::none()',
                f"{field}.value_or(Tensor())")
    if kind not in TAKEN_AS:
        fail(f"{origin}: the option '{field}' has type {kind}, which is not in TAKEN_AS; add it")
    value = default or "nb::none()"
    if value.startswith("{"):
        value = TAKEN_AS[kind] + value
    if value == "std::nullopt":
        value = "nb::none()"
    return f"{TAKEN_AS[kind]} {field}", f'nb::arg("{snake(field)}") = {value}', field


def bind_function(comment: list[str], code: str, options: dict[str, list[Field]]) -> str:
    code = " ".join(code.split())
    match = re.fullmatch(r"Tensor (\w+)\((.*)\);", code)
    if not match:
        fail(f"the declaration '{code}' must have the form Tensor NAME(...);")
    name, parameters = match.group(1), split_top(match.group(2))
    if not parameters or parameters[-1] != "Caller at = Caller::here()":
        fail(f"the last parameter of '{name}' must be 'Caller at = Caller::here()'")
    taken, arguments, given, names, notes = [], [], [], [], []
    isKeywordOnly = False
    for parameter in parameters[:-1]:
        kind, argument, default = parse_parameter(parameter, name)
        struct = kind.replace("const ", "").replace(" &", "")
        if struct in options:
            fields = []
            if not isKeywordOnly:
                arguments.append("nb::kw_only()")
                isKeywordOnly = True
            for field in options[struct]:
                parameterText, argumentText, value = keyword(*field[:3], name)
                taken.append(parameterText)
                arguments.append(argumentText)
                fields.append(value)
                names.append(field[1])
                if field[3]:
                    notes.append("{}: {}.".format(snake(field[1]), field[3].rstrip(".")))
            given.append("{}{{{}}}".format(struct, ", ".join(fields)))
            continue
        if kind not in TAKEN_AS:
            fail(f"'{name}' has a parameter of type {kind}, which is not in TAKEN_AS; add it")
        names.append(argument)
        taken.append(f"{TAKEN_AS[kind]} {argument}" if not TAKEN_AS[kind].endswith("&") else TAKEN_AS[kind] +
                     argument)
        value_left_out = "nb::none()" if default == "std::nullopt" else default
        arguments.append(f'nb::arg("{snake(argument)}")' + (f" = {value_left_out}" if value_left_out else ""))
        given.append(f"layoutOf({argument})" if struct == "Layout" else argument)
    doc = in_python(comment, names)
    text = "\n\n".join(part for part in [doc] + notes if part)
    call = f'[]({", ".join(taken)}) {{ return {name}({", ".join([*given, "callerInPython()"])}); }}'
    return (f'  module.def("{snake(name)}", {call},\n'
            f'             {", ".join(arguments)},\n'
            f'             nb::keep_alive<0, 1>(), {literal(text)});')


def bind_ops(header: str) -> list[str]:
    text = header.split("// Ops: see dialects/nn/Nn.td for what each means\n", 1)
    if len(text) != 2:
        fail("Graph.h has no banner 'Ops: see dialects/nn/Nn.td for what each means'")
    body = text[1].split("} // namespace", 1)[0]
    body = "\n".join(line for line in body.splitlines() if not line.startswith("//="))
    options, functions = {}, []
    for comment, code in statements(body, "the section 'Ops'"):
        if code.startswith("struct "):
            name, fields = parse_options(code)
            options[name] = fields
        else:
            functions.append(bind_function(comment, code, options))
    return functions


LETTERS = "\n\nHere t counts the updates, from 0 after the warm-up, during which the factor grows evenly to 1, " \
    "and length is steps - warmup. The rate in use is the variable 'optimizer.learning_rate' times the factor; the " \
    "variable 'optimizer.step' counts all updates."


def bind_numbers(text: str, table: str, after: str = "") -> str:
    """A C++ table with {name of the struct, its kName, its comment and `after`} for each struct of numbers."""
    comment: list[str] = []
    name: str | None = None
    rows = []
    for line in text.splitlines():
        if line.startswith("///"):
            comment.append(line)
        elif line.startswith("struct "):
            name = name_of(line)
        elif name and (match := re.search(r'kName = "(\w+)"', line)):
            rows.append((name, match.group(1), in_python(comment, []) + after))
        elif line.startswith("};"):
            comment, name = [], None
        elif not line.strip() and not name:
            comment = []
    if not rows:
        fail(f"the header for {table} contains no struct with a kName")
    lines = ["    {{{}, {}, {}}},".format(*tuple(literal(part) for part in row)) for row in rows]
    return "constexpr NumbersText {}[] = {{\n{}\n}};".format(table, "\n".join(lines))


def read(path: str) -> str:
    with open(path) as file:
        return file.read()


def main() -> None:
    graph, optimizers, schedules = [read(path) for path in sys.argv[1:]]
    print("// Generated by bind_ops.py; included by BindOps.cc.\n")
    print(bind_numbers(optimizers, "kOptimizers"))
    print(bind_numbers(schedules, "kRateSchedules", LETTERS))
    print("\nvoid defineOps(nb::module_ &module) {{\n{}\n}}".format("\n".join(bind_ops(graph))))


if __name__ == "__main__":
    main()
