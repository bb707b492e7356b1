#!/usr/bin/env python3
"""--cse and --canonicalize between any two passes change no plan: cleanups_test.py SPLITCAST_OPT MODEL...

The order of what matters is in the IR (effects, scopes, fences), not in a comment that says which pass must not run where.
For each model and stage, the plans of a rank with and without the two after each pass: bytes of the spaces, inputs and
outputs, and the collectives with their order, ranks, blocks and bytes.
"""
import re
import subprocess
import sys

TAIL = "exec-lower"
SPACE = re.compile(r"exec\.space (.*)$")
PLAN = re.compile(r"exec\.plan @([\w.]+) attributes \{(.*)\} \{$")
COLLECTIVE = re.compile(r"exec\.collective (.*)$")
RANGE = re.compile(r"<(arena|persistent), \d+, (\d+)>")


def passesOf(opt, arguments):
    """The passes that pipelines stand for, as text."""
    result = subprocess.run(
        [opt, "-", *arguments, "--dump-pass-pipeline"], input="module {}", capture_output=True, text=True, check=False
    )
    text = re.search(r"builtin\.module\((.*)\)", result.stderr).group(1)
    passes, depth, start = [], 0, 0
    for index, char in enumerate(text + ","):
        depth += (char in "{(") - (char in "})")
        if char == "," and depth == 0:
            passes.append(text[start:index])
            start = index + 1
    return passes


def attribute(text, name):
    """The value of an attribute of a plan, up to the next one."""
    return re.search(rf"\b{name} = (.*?)(, \w+ = |$)", text).group(1)


def planOf(opt, model, passes):
    """What matters of the plans of a module, line by line."""
    command = [opt, model, f"--pass-pipeline=builtin.module({','.join(passes)})"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        return [f"exit status {result.returncode}: {' '.join(command)}", *result.stderr.splitlines()[:20]]
    lines = []
    for line in result.stdout.splitlines():
        line = line.strip()
        if space := SPACE.match(line):
            lines.append(f"space {space.group(1)}")
        elif plan := PLAN.match(line):
            lines.append(f"@{plan.group(1)}")
            for name in ("input_types", "output_types"):
                lines.append(f"  {name} = {attribute(plan.group(2), name)}")
        elif collective := COLLECTIVE.match(line):
            lines.append("  " + RANGE.sub(r"<\1, \2 bytes>", collective.group(1)))
    return lines


def differences(opt, model, arguments):
    """(number of plans compared, findings)"""
    passes = passesOf(opt, arguments)
    expected = planOf(opt, model, passes)
    if not any(line.startswith("@") for line in expected):
        return 0, [f"{model} {' '.join(arguments)}: no plan\n" + "\n".join(expected)]
    findings, compared = [], 0
    for index in range(1, passes.index(TAIL) + 1):
        found = planOf(opt, model, passes[:index] + ["cse", "canonicalize"] + passes[index:])
        compared += 1
        if found == expected:
            continue
        changed = [f"  - {line}" for line in expected if line not in found]
        changed += [f"  + {line}" for line in found if line not in expected]
        where = f"{model} {' '.join(arguments)}: cse and canonicalize behind {passes[index - 1]} change the plan:"
        findings.append("\n".join([where, *(changed or ["  the order of its lines"])]))
    return compared, findings


def main():
    opt, *models = sys.argv[1:]
    compared, findings = 0, []
    for model in models:
        for zero in ("stage=0", "stage=1", "stage=2", "stage=3", "stage=3 strategy=tensor"):
            arguments = [f"--enable-zero={zero}", "--sbp-localize=rank=1", "--local-pipeline", "--exec-lower"]
            more, found = differences(opt, model, arguments)
            compared += more
            findings += found
    print("\n".join(findings))
    print(f"{len(findings)} findings in {compared} plans")
    sys.exit(1 if findings or not compared else 0)


if __name__ == "__main__":
    main()
