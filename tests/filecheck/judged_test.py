"""lit's format of tests with RUN lines, but a test that could not fail fails.

It could not if it has no RUN line, or one whose output nothing judges; if FileCheck has no line that must match; if
diagnostics are verified and none is expected; or if lit is told to skip the test, to expect its failure, or to put
commands together.
"""

import re

import lit.formats
import lit.Test
import lit.TestRunner

PREFIXES = re.compile(r"--?check-prefix(?:es)?[= ]([\w,-]+)")
VERIFIES = re.compile(r"\s--?verify-diagnostics(?=\s|$)")
EXPECTED = re.compile(r"//\s*expected-(error|warning|note|remark)")
# lit finds these words within others, too. END. would hide the RUN lines behind it.
CONDITIONS = re.compile(r"(?:REQUIRES|UNSUPPORTED|XFAIL|ALLOW_RETRIES|DEFINE):|END\.")
# What lets a command go on after an error, or not run at all.
CONTROL = re.compile(r"%if|\|\||;")
# What lit puts before a command, to say in which line it stands.
DEBUG = re.compile(r"^%dbg\(.*?\)\s*")
# -NOT is left out: it holds for an empty output too.
POSITIVE = r"//\s*{}(-NEXT|-SAME|-DAG|-LABEL|-EMPTY|-COUNT-\d+)?:"


def prefixesOf(judge):
    """The check prefixes of a FileCheck command."""
    match = PREFIXES.search(judge)
    return match.group(1).split(",") if match else ["CHECK"]


def reasonsNotToTrust(commands, text):
    """Why the test of these RUN lines could pass whatever the tool does."""
    reasons = []
    for command in commands:
        stages = [stage.split() for stage in re.split(r"\||&&", command)]
        judges = [" ".join(stage) for stage in stages if stage and stage[0] == "FileCheck"]
        isVerified = VERIFIES.search(command) and all(stage[:1] != ["not"] for stage in stages)
        if control := CONTROL.search(command):
            reasons.append(f"'{control.group(0)}' may keep it from failing: {command}")
        if isVerified and not EXPECTED.search(text):
            reasons.append(f"verifies diagnostics, but expects none: {command}")
        if not isVerified and not judges:
            reasons.append(f"nothing judges the output of: {command}")
        for judge in judges:
            for prefix in prefixesOf(judge):
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
        reasons += reasonsNotToTrust([DEBUG.sub("", line.command) for line in script], text)
        return lit.Test.Result(lit.Test.FAIL, "\n".join(reasons)) if reasons else super().execute(test, litConfig)
