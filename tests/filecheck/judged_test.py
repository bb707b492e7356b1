"""lit's format of tests with RUN lines, but a test that could not fail fails.

It could not if it has no RUN line, or one whose output nothing judges; if FileCheck has no line that must match; if
diagnostics are verified and none is expected; or if lit is told to skip the test, to expect its failure, or to put
commands together.
"""

import re

import lit.formats
import lit.Test
import lit.TestRunner

FILECHECK = re.compile(r"\bFileCheck\b")
PREFIXES = re.compile(r"--?check-prefix(?:es)?[= ]([\w,-]+)")
EXPECTED = re.compile(r"//\s*expected-(error|warning|note|remark)")
CONDITIONS = re.compile(r"\b(REQUIRES|UNSUPPORTED|XFAIL|ALLOW_RETRIES|DEFINE|REDEFINE):")
# -NOT is left out: it holds for an empty output too.
POSITIVE = r"//\s*{}(-NEXT|-SAME|-DAG|-LABEL|-EMPTY|-COUNT-\d+)?:"


def prefixesOf(command):
    """The check prefixes of each FileCheck in a command."""
    stages = [stage for stage in re.split(r"[|;]|&&", command) if FILECHECK.search(stage)]
    return [(match.group(1).split(",") if (match := PREFIXES.search(stage)) else ["CHECK"]) for stage in stages]


def reasonsNotToTrust(commands, text):
    """Why the test of these RUN lines could pass whatever the tool does."""
    reasons = []
    for command in commands:
        isVerified = "-verify-diagnostics" in command
        if isVerified and not EXPECTED.search(text):
            reasons.append(f"verifies diagnostics, but expects none: {command}")
        if not isVerified and not FILECHECK.search(command):
            reasons.append(f"nothing judges the output of: {command}")
        for prefixes in prefixesOf(command):
            for prefix in prefixes:
                if not re.search(POSITIVE.format(re.escape(prefix)), text):
                    reasons.append(f"no line with the prefix {prefix} must match: {command}")
    return reasons


class JudgedTest(lit.formats.ShTest):
    def execute(self, test, litConfig):
        with open(test.getSourcePath(), encoding="utf-8") as file:
            text = file.read()
        reasons = [f"{match.group(0)} may keep the test from failing" for match in CONDITIONS.finditer(text)]
        script = [] if reasons else lit.TestRunner.parseIntegratedTestScript(test)
        if isinstance(script, lit.Test.Result):  # such as that there is no RUN line
            return script
        reasons += reasonsNotToTrust([line.command for line in script], text)
        return lit.Test.Result(lit.Test.FAIL, "\n".join(reasons)) if reasons else super().execute(test, litConfig)
