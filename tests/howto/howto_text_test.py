#!/usr/bin/env python3
"""What CONTRIBUTING.md shows of code that adds an op, a pass, an optimizer or a collective is what the patches of this
folder add."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
import pages


class HowToTextTest(unittest.TestCase):

    def setUp(self):
        page = pages.textOf(pages.PAGE)
        self.sections = {name: pages.sectionOf(page, heading) for name, heading in pages.SECTIONS.items()}
        self.added = {name: pages.addedOf(pages.textOf(pages.patchPath(name))) for name in pages.SECTIONS}

    def testEachPatchHasASection(self):
        folder = os.path.join(pages.ROOT, "tests", "howto")
        found = {os.path.splitext(name)[0] for name in os.listdir(folder) if name.endswith(".patch")}
        self.assertEqual(found, set(pages.SECTIONS))

    def testBlocksAreLinesOfThePatches(self):
        for name, section in self.sections.items():
            blocks = [block for block in pages.blocksOf(section) if block[0] != "bash"]
            self.assertTrue(blocks, name)
            for _, before, lines in blocks:
                path = pages.fileOf(before, self.added[name])
                with self.subTest(f"{name}.patch, {path}: {lines[0]}"):
                    self.assertTrue(path, "the page names no file of the patch before this block")
                    self.assertEqual(pages.missing(lines, self.added[name][path]), "", "is not what the patch adds here")

    def testNumbersOfFilesAreThose(self):
        for name, section in self.sections.items():
            self.assertIn(f"`{pages.patchPath(name)}` ({len(self.added[name])} files)", " ".join(section.split()))

    def testNamedTestsAreThere(self):
        for name, section in self.sections.items():
            labels = pages.labelsOf(section)
            self.assertGreater(len(labels), 1, name)
            for label in labels:
                folder = label[2:].split(":")[0].replace("/...", "")
                self.assertTrue(os.path.isfile(os.path.join(pages.ROOT, folder, "BUILD")), f"{name}: {label}")


class PagesTest(unittest.TestCase):
    """That the checks above find something."""

    PAGE = ("## How to\n\n`a.cc` and `c.cc`:\n\n```cpp\none\n\ntwo\n```\n\n```bash\nbazel test //x //y:z \\\n  //w/...\n"
            "bazel build //v\n```\n## Next\n\n```cpp\nthree\n```\n")
    PATCH = "--- a/a.cc\n+++ b/a.cc\n@@ -1 +1,3 @@\n+one\n zero\n+between\n@@ -9 +11 @@\n-three\n+two\n"

    def testParts(self):
        section = pages.sectionOf(self.PAGE, "How to")
        self.assertEqual(pages.labelsOf(section), ["//x", "//y:z", "//w/..."])
        (language, before, lines), _ = pages.blocksOf(section)
        self.assertEqual((language, lines), ("cpp", ["one", "", "two"]))
        added = pages.addedOf(self.PATCH)
        self.assertEqual(added, {"a.cc": ["one", "between", "two"]})
        self.assertEqual(pages.fileOf(before, added), "a.cc")
        self.assertEqual(pages.fileOf(before, {"b.cc": []}), "")
        self.assertEqual(pages.missing(lines, added["a.cc"]), "")

    def testBlockWithABlock(self):
        [block] = pages.blocksOf("a\n\n````md\n```cpp\none\n```\n````\n")
        self.assertEqual(block, ("md", "a\n\n", ["```cpp", "one", "```"]))

    def testLinesInAnotherOrder(self):
        self.assertEqual(pages.missing(["two", "one"], ["one", "two"]), "one")
        self.assertEqual(pages.missing(["one", "one"], ["one", "two"]), "one")
        self.assertEqual(pages.missing(["  one"], ["one"]), "  one")


if __name__ == "__main__":
    unittest.main()
