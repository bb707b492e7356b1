#!/usr/bin/env python3
"""README.md, docs/tour.md and docs/guide.md: what they quote is in the files, their IR is what splitcast-opt reads and
prints, their commands name what there is, and their table of options has the options. README.md is short. Links from
README.md and the pages of docs to each other lead somewhere. Runs in the root of the runfiles."""
import glob
import os
import re
import shlex
import subprocess
import tempfile
import unittest

TOUR = "docs/tour.md"  # the page that shows what becomes of a module
PAGES = ["README.md", TOUR, "docs/guide.md"]
MAX_WORDS = 900  # of README.md, as wc -w counts them
# What a command may name, below bazel-bin or without a folder.
PROGRAMS = {
    "splitcast-opt": "compiler/tools/splitcast-opt",
    "splitcast-run": "compiler/tools/splitcast-run",
    "splitcast-kernels": "compiler/tools/splitcast-kernels",
    "gpt": "examples/gpt/gpt",
    "minimal": "examples/minimal/minimal",
}
OPT = PROGRAMS["splitcast-opt"]
QUOTED = {"examples/minimal/Minimal.cc", "examples/python/minimal.py", "examples/python/minimal_torch.py"}


def text_of(path):
    with open(path) as file:
        return file.read()


def _place_in(page, text, match):
    """The page and the line of a match in its text."""
    line = text.count("\n", 0, match.start()) + 1
    return f"{page}:{line}"


def blocks_of(page, language):
    """(where, what the page says before it, the block)"""
    text = text_of(page)
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    return [(_place_in(page, text, match), text[:match.start()], match.group(1))
            for match in found]


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


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
    """Of each line that runs splitcast-opt on the tour's module, the arguments behind the file."""
    return [words[2:] for _, words in commands_of(page) if words[:2] == ["bazel-bin/" + OPT, "model.mlir"]]


class Page(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.tour = [block for _, _, block in blocks_of(TOUR, "mlir")]
        cls.model = write(cls.tour[0])

    def output(self, arguments, model=None):
        result = run([OPT, model or self.model] + arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def expect_in_order(self, block, output, where):
        lines = iter([line.strip() for line in output.splitlines()])
        for line in block.splitlines():
            self.assertIn(line.strip(), lines, where + ": splitcast-opt does not print this line here")


class Readme(unittest.TestCase):

    def test_is_short(self):
        words = len(text_of("README.md").split())
        self.assertLessEqual(words, MAX_WORDS, "move what is not for a first reader to a page of docs")

    def test_has_the_two_commands(self):
        commands = [words for _, words in commands_of("README.md")]
        for script in "scripts/train.sh", "scripts/test.sh":
            self.assertIn(["bash", script], commands)


class Links(unittest.TestCase):

    def anchors_of(self, page):
        """What GitHub makes of the headings: lower case, spaces as hyphens, without other signs."""
        text = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.M | re.S)
        return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
                for heading in re.findall(r"^#+ (.*)$", text, re.M)}

    def test_lead_somewhere(self):
        checked = 0
        for page in ["README.md"] + sorted(glob.glob("docs/*.md")):
            text = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.M | re.S)
            for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
                path, _, anchor = target.partition("#")
                path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
                if path != "README.md" and os.path.dirname(path) != "docs":
                    continue  # not in the runfiles
                with self.subTest(f"{page}: {target}"):
                    self.assertTrue(os.path.exists(path), f"there is no {path}")
                    self.assertTrue(not anchor or anchor in self.anchors_of(path), f"{path} has no such heading")
                    checked += 1
        self.assertGreater(checked, 50)


class Quotes(Page):

    def test_are_in_the_files(self):
        quotes = [(page, path, block) for page in PAGES for path, block in
                  re.findall(r"^From `([^`]+)`:\n\n```\w+\n(.*?)^```$", text_of(page), re.M | re.S)]
        self.assertEqual(len(quotes), sum(len(re.findall("^From `", text_of(page), re.M)) for page in PAGES))
        self.assertEqual({path for _, path, _ in quotes}, QUOTED)
        for page, path, block in quotes:
            self.assertGreater(block.count("\n"), 2)
            self.assertIn(block, text_of(path), f"{page} quotes {path}")


class Module(Page):

    def test_becomes_what_is_printed(self):
        self.assertGreater(self.tour[1].count("\n"), 5)
        arguments = opt_commands(TOUR)[0]
        self.expect_in_order(self.tour[1], self.output(arguments), TOUR)
        reasons = re.findall(r"`(%[\w.]+)` has `(#sbp\.\w+<[^`]*>)`", " ".join(text_of(TOUR).split()))
        self.assertEqual(len(reasons), 2)
        places = self.output(arguments + ["--mlir-print-debuginfo"])
        for value, reason in reasons:
            [place] = re.findall(rf"^ *{value} = .* loc\((#loc\d+)\)$", places, re.M)
            self.assertRegex(places, rf"(?m)^{place} = loc\(fused<{re.escape(reason)}>")

    def test_lies_as_is_said(self):
        [(last, said)] = re.findall(r"ranks 0 to (\d+) hold ([\d, and]+) rows", " ".join(text_of(TOUR).split()))
        rows = re.findall(r"\d+", said)
        self.assertEqual(len(rows), int(last) + 1)
        for rank, count in enumerate(rows):
            program = self.output(opt_commands(TOUR)[0] + [f"--sbp-localize=rank={rank}"])
            self.assertIn(f"ccl.storage @storage.w : tensor<{count}x4xf32>", program)

    def test_is_what_other_commands_read(self):
        commands = [command for page in PAGES for command in opt_commands(page)]
        self.assertGreaterEqual(len(commands), 3)
        for command in commands:
            self.output(command)


class Fragments(Page):

    def test_parse(self):
        definitions, *fragments = blocks_of("docs/guide.md", "mlir")
        fragments += blocks_of(TOUR, "mlir")[2:] + blocks_of("README.md", "mlir")
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
            said = re.search(rf"^  --{flag}=\S+ +(.*)$", help_of("gpt"), re.M).group(1)
            names = re.findall(r"\w+", re.search(r"(\w+(?:, \w+)+ or \w+)", said).group(1).replace(" or ", " "))
            self.assertGreater(len(names), 5)
            self.assertEqual([name for name in names if f"`{name}`" not in section], [])


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
        self.assertTrue(os.path.exists(place), f"there is no {value}")
        return True

    def check_flags(self, program, words):
        """Those of the program are in its --help, those of a script in its text."""
        text = help_of(program) if program in PROGRAMS else text_of(program)
        for word in words:
            if flag := re.match(r"--[\w-]+", word):
                beginning = r"^ +" if program in PROGRAMS else ""
                self.assertRegex(text, rf"(?m){beginning}{flag.group()}(?![\w-])", program)

    def test_name_what_there_is(self):
        commands = [command for page in PAGES for command in commands_of(page)]
        self.assertGreater(len(commands), 10)
        for where, words in commands:
            with self.subTest(f"{where}: {' '.join(words)}"):
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
