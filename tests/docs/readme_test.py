#!/usr/bin/env python3
"""README.md and docs/guide.md: what they quote is in the files, their IR is what splitcast-opt reads and prints, their
commands name what there is, and their table of options has the options. Runs in the root of the runfiles."""
import os
import re
import shlex
import subprocess
import tempfile
import unittest

PAGES = ["README.md", "docs/guide.md"]
# What a command may name, below bazel-bin or without a folder.
PROGRAMS = {
    "splitcast-opt": "compiler/tools/splitcast-opt",
    "splitcast-run": "compiler/tools/splitcast-run",
    "splitcast-kernels": "compiler/tools/splitcast-kernels",
    "gpt": "examples/gpt/gpt",
    "minimal": "examples/minimal/minimal",
}
OPT = PROGRAMS["splitcast-opt"]


def text_of(path):
    with open(path) as file:
        return file.read()


def blocks_of(page, language):
    """(where, what the page says before it, the block)"""
    text = text_of(page)
    found = re.finditer(r"^```%s\n(.*?)^```$" % language, text, re.M | re.S)
    return [("%s:%d" % (page, text.count("\n", 0, match.start()) + 1), text[:match.start()], match.group(1))
            for match in found]


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=60)


def help_of(program):
    result = run([PROGRAMS[program], "--help"])
    assert result.returncode == 0, result.stderr
    return result.stdout


def write(text):
    file = tempfile.NamedTemporaryFile("w", suffix=".mlir", dir=os.environ.get("TEST_TMPDIR"), delete=False)
    with file:
        file.write(text)
    return file.name


def commands_of(page):
    """(where, words) of each line of the bash blocks, without comments; a line that ends in \\ goes on."""
    for where, _, block in blocks_of(page, "bash"):
        for line in block.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield where, words


def opt_commands(page):
    """Of each line that runs splitcast-opt on README's module, the arguments behind the file."""
    return [words[2:] for _, words in commands_of(page) if words[:2] == ["bazel-bin/" + OPT, "model.mlir"]]


class Page(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.readme = [block for _, _, block in blocks_of("README.md", "mlir")]
        cls.model = write(cls.readme[0])

    def output(self, arguments, model=None):
        result = run([OPT, model or self.model] + arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def expect_in_order(self, block, output, where):
        lines = iter([line.strip() for line in output.splitlines()])
        for line in block.splitlines():
            self.assertIn(line.strip(), lines, where + ": splitcast-opt does not print this line here")


class Quotes(Page):

    def test_are_in_the_files(self):
        quotes = [(page, path, block) for page in PAGES for path, block in
                  re.findall(r"^From `([^`]+)`:\n\n```\w+\n(.*?)^```$", text_of(page), re.M | re.S)]
        self.assertEqual(len(quotes), sum(len(re.findall("^From `", text_of(page), re.M)) for page in PAGES))
        self.assertGreaterEqual(len(quotes), 2)
        for page, path, block in quotes:
            self.assertGreater(block.count("\n"), 2)
            self.assertIn(block, text_of(path), "%s quotes %s" % (page, path))


class Module(Page):

    def test_becomes_what_is_printed(self):
        self.assertGreater(self.readme[1].count("\n"), 5)
        arguments = opt_commands("README.md")[0]
        self.expect_in_order(self.readme[1], self.output(arguments), "README.md")
        reasons = re.findall(r"`(%[\w.]+)` has `(#sbp\.\w+<[^`]*>)`", " ".join(text_of("README.md").split()))
        self.assertEqual(len(reasons), 2)
        places = self.output(arguments + ["--mlir-print-debuginfo"])
        for value, reason in reasons:
            [place] = re.findall(r"^ *%s = .* loc\((#loc\d+)\)$" % value, places, re.M)
            self.assertRegex(places, r"(?m)^%s = loc\(fused<%s>" % (place, re.escape(reason)))

    def test_lies_as_is_said(self):
        [(last, said)] = re.findall(r"ranks 0 to (\d+) hold ([\d, and]+) rows", " ".join(text_of("README.md").split()))
        rows = re.findall(r"\d+", said)
        self.assertEqual(len(rows), int(last) + 1)
        for rank, count in enumerate(rows):
            program = self.output(opt_commands("README.md")[0] + ["--sbp-localize=rank=%d" % rank])
            self.assertIn("ccl.storage @storage.w : tensor<%sx4xf32>" % count, program)

    def test_is_what_other_commands_read(self):
        commands = [command for page in PAGES for command in opt_commands(page)]
        self.assertGreaterEqual(len(commands), 3)
        for command in commands:
            self.output(command)


class Fragments(Page):

    def test_parse(self):
        definitions, *fragments = blocks_of("docs/guide.md", "mlir")
        fragments += blocks_of("README.md", "mlir")[2:]
        self.assertGreaterEqual(len(fragments), 4)
        for where, before, block in fragments:
            with self.subTest(where):
                if block.startswith("sbp.schedule"):
                    [options] = re.findall(r'--enable-zero="?([^"`]+)"?`', before)[-1:]
                    self.expect_in_order(block, self.output(["--enable-zero=" + options]), where)
                else:
                    self.output([], write(definitions[2] + block))


class Options(Page):

    def test_are_those_of_the_flag(self):
        flag = re.search(r"^  --enable-zero=.*\n((?: {8}.*\n)+)", help_of("gpt"), re.M).group(1)
        known = {name: (re.findall(r"\(([\w-]+)\)$", said) or ["the first"])[0]
                 for name, said in re.findall(r"^ +([\w-]+): (.*)$", flag, re.M)}
        self.assertGreater(len(known), 15)
        section = text_of("docs/guide.md").split("\n## Options of ZeRO\n")[1].split("\n## ")[0]
        rows = re.findall(r"^\| `([\w-]+)` \| .*? \| `?([\w -]+)`? \| .* \|$", section, re.M)
        self.assertEqual(len(rows), len(re.findall(r"^\| `", section, re.M)))
        self.assertEqual(dict(rows), known)
        self.assertEqual([name for name, _ in rows], list(known))

    def test_optimizers_and_schedules_are_those_of_flags(self):
        section = text_of("docs/guide.md").split("\n## Optimizers and schedules\n")[1].split("```")[0]
        for flag in "optimizer", "schedule":
            said = re.search(r"^  --%s=\S+ +(.*)$" % flag, help_of("gpt"), re.M).group(1)
            names = re.findall(r"\w+", re.search(r"(\w+(?:, \w+)+ or \w+)", said).group(1).replace(" or ", " "))
            self.assertGreater(len(names), 5)
            self.assertEqual([name for name in names if "`%s`" % name not in section], [])


class Commands(Page):

    def check_word(self, word):
        """Whether it names something that can be looked for: a label, a script, a file of the project."""
        value = word.split("=", 1)[1] if re.match(r"[A-Z_]+=", word) else word
        if value.startswith("//"):
            place = value[2:].replace(":", "/")
        elif "/" in value and not value.startswith(("-", "/")):
            place = re.sub("^bazel-bin/", "", value)
        else:
            return False
        self.assertTrue(os.path.exists(place), "there is no %s" % value)
        return True

    def check_flags(self, program, words):
        """Those of the program are in its --help, those of a script in its text."""
        text = help_of(program) if program in PROGRAMS else text_of(program)
        for word in words:
            if flag := re.match(r"--[\w-]+", word):
                beginning = r"^ +" if program in PROGRAMS else ""
                self.assertRegex(text, r"(?m)%s%s(?![\w-])" % (beginning, flag.group()), program)

    def test_name_what_there_is(self):
        commands = [command for page in PAGES for command in commands_of(page)]
        self.assertGreater(len(commands), 10)
        for where, words in commands:
            with self.subTest("%s: %s" % (where, " ".join(words))):
                checked = sum([self.check_word(word) for word in words])
                for i, word in enumerate(words):
                    name = os.path.basename(word)
                    if name in PROGRAMS or word.endswith((".sh", ".py")):
                        self.check_flags(name if name in PROGRAMS else word, words[i + 1:])
                    elif word == "-m":
                        checked += self.check_word("compiler/python/" + words[i + 1].replace(".", "/") + ".py")
                self.assertGreater(checked, 0, "nothing of this command is checked")


if __name__ == "__main__":
    unittest.main(verbosity=2)
