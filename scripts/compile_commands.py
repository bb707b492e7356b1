"""Converts Bazel's list of compile actions (aquery, jsonproto) to compile_commands.json in the current directory.

Usage: compile_commands.py AQUERY_JSON OUTPUT_BASE EXECUTION_ROOT
"""
import json
import os
import sys

# Options whose value is a path. It is the next argument, or follows the option directly.
PATH_OPTIONS = ("-I", "-iquote", "-isystem")


def absolutePath(path, outputBase, executionRoot):
    """Makes a path of Bazel's valid for clangd, which runs in the project's root and not in Bazel's execution root."""
    if path.startswith("external/"):
        return os.path.join(outputBase, path)
    if path.startswith("bazel-out/"):
        return os.path.join(executionRoot, path)
    return path


def clangArguments(arguments, outputBase, executionRoot):
    result = []
    skipNext = False
    for previous, argument in zip([""] + arguments, arguments):
        if skipNext or argument in ("-MD", "-MF"):
            skipNext = argument == "-MF"
            continue
        if previous in PATH_OPTIONS:
            argument = absolutePath(argument, outputBase, executionRoot)
        else:
            for option in PATH_OPTIONS:
                if argument.startswith(option) and argument != option:
                    argument = option + absolutePath(argument[len(option) :], outputBase, executionRoot)
                    break
        result.append(argument)
    return result


def entries(actions, outputBase, executionRoot):
    byFile = {}
    for action in actions:
        arguments = action["arguments"]
        source = arguments[arguments.index("-c") + 1]
        # A source of two targets gets only the first command, since clangd uses no other.
        byFile.setdefault(
            source,
            {
                "directory": os.getcwd(),
                "file": source,
                "arguments": clangArguments(arguments, outputBase, executionRoot),
            },
        )
    return [byFile[source] for source in sorted(byFile)]


def main():
    queryPath, outputBase, executionRoot = sys.argv[1:]
    with open(queryPath, encoding="utf-8") as file:
        actions = json.load(file).get("actions", [])
    commands = entries(actions, outputBase, executionRoot)
    if not commands:
        sys.exit("compile_commands: error: Bazel lists no compile action; check the names of the targets")
    partPath = "compile_commands.json.part"
    with open(partPath, "w", encoding="utf-8") as file:
        json.dump(commands, file, indent=1)
    os.replace(partPath, "compile_commands.json")
    print(f"compile_commands: {len(commands)} sources in compile_commands.json")


if __name__ == "__main__":
    main()
