"""What the files torch_cases*.py and torch_programs.py have in common: each has a SUITE of cases by name, and runs those
that its command line names, or all. conftest.py makes tests of pytest of them.

    python3 -m splitcast.launch -n 3 torch_cases_ranks.py "short last batch"
    python3 torch_suite.py FILE...        prints the names of the files' cases and their numbers of ranks, as JSON
"""
from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping

import splitcast as sc


class Suite:
    """cases: functions that return 'ok' or what is wrong, by names. ranks: on how many the file is run, one after the
    other. measured: cases that run only where the command line names them."""

    def __init__(self, cases: Mapping[str, Callable[[], str]], ranks: tuple[int, ...],
                 measured: Mapping[str, Callable[[], str]] | None = None) -> None:
        self.cases, self.ranks, self.measured = cases, ranks, measured or {}

    def run(self) -> None:
        """Rank 0 prints a line 'CASE name: outcome' after each case, with the outcome of the first rank that is not
        'ok'; line breaks in it are printed as \\n. Before it, the line 'CASE name' ends what is the case's in stderr."""
        warnings.filterwarnings("ignore")
        for name in sys.argv[1:] or self.cases:
            outcomes = sc.exchange(_outcome({**self.cases, **self.measured}[name]), f"outcomes of '{name}'")
            if sc.rank() == 0:
                if not sys.stderr.isatty():
                    print(f"CASE {name}", file=sys.stderr, flush=True)
                outcome = next((each for each in outcomes if each != "ok"), "ok").replace("\n", "\\n")
                print(f"CASE {name}: {outcome}", flush=True)


def _outcome(case: Callable[[], str]) -> str:
    """What the case returns; on one rank, an exception ends no case but its own. (Other ranks would wait.)"""
    try:
        return case()
    except Exception as error:
        if sc.size() > 1:
            raise
        traceback.print_exc()
        return f"raises {type(error).__name__}: {error}"


def main() -> None:
    suites = {}
    for path in sys.argv[1:]:
        folder, file = os.path.split(os.path.abspath(path))
        sys.path.insert(0, folder)
        suite = importlib.import_module(file.removesuffix(".py")).SUITE
        suites[path] = {"ranks": suite.ranks, "names": list(suite.cases)}
    print(json.dumps(suites))


if __name__ == "__main__":
    main()
