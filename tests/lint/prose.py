"""What holds in Markdown: prose has at most so many columns. Tables, blocks of code and long links may have more."""

MAX_COLUMNS = 120


def check(path, text):
    """Findings, as 'path:line: message', in the text of the file at this path of the project."""
    if not path.endswith(".md"):
        return []
    findings = []
    inCode = False
    for number, line in enumerate(text.split("\n"), 1):
        start = line.lstrip()
        if start.startswith("```"):
            inCode = not inCode
        elif not inCode and not start.startswith("|") and " " in line[MAX_COLUMNS:].rstrip():
            findings.append(f"{path}:{number}: {len(line)} columns; fill the paragraph anew, to {MAX_COLUMNS}")
    return findings
