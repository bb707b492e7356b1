#!/usr/bin/env python3
"""What goes wrong on one rank alone is an error on all, and never mixes their values."""
import unittest

import jobs

HEAD = """
import os
import numpy as np
import splitcast as sc

sc.init(timeout=20)
"""

OTHER_ORDER = HEAD + """
graph = sc.Graph()
for name, factor in (("f", 1.0), ("g", 1000.0), ("h", 1.0)):
    graph.function(name)
    graph.output("sum", sc.sum(graph.input("x", sc.f32, (12,), sc.split(0))) * factor)
session = graph.compile()
x = np.arange(12, dtype=np.float32)
print("f", session.run("f", whole=True, x=x)["sum"], flush=True)
for attempt in range(2):
    try:
        print("mixed", session.run("g" if sc.rank() != 1 else "OTHER", whole=True, x=x))
    except sc.Error as error:
        print("caught", error, flush=True)
        if attempt == 1:
            raise
"""

IN_THE_MIDDLE = HEAD + """
graph = sc.Graph()
ids = graph.input("ids", sc.i64, (6,), sc.split(0))
loss = sc.mean(sc.embedding_table(ids, "table", 4, 5))
graph.minimize(loss, sc.Sgd(0.1))
graph.output("loss", loss)
session = graph.compile(enable_zero=2)
for step in range(3):
    try:
        session.run("main", whole=True, ids=np.full(6, 9 if step == 1 and sc.rank() == 2 else 1))
        print("rank", sc.rank(), "step", step, flush=True)
    except sc.Error as error:
        print("rank", sc.rank(), "caught", error, flush=True)
        if step == 2:
            raise
"""

FORKED = HEAD + """
import multiprocessing
import sys

graph = sc.Graph()
x = graph.input("x", sc.f32, (6, 5), sc.split(0))
loss = sc.mean(sc.linear(x, "w", 3))
graph.minimize(loss, sc.Sgd(0.1))
graph.output("loss", loss)
session = graph.compile(enable_zero=3)
step = lambda: float(session.run("main", whole=True, x=np.ones((6, 5), np.float32))["loss"])
first = step()
for ends, status in ((lambda: sys.exit(0), 0), (lambda: sys.exit(3), 3), (step, 1)):
    child = os.fork()
    if child == 0:
        assert sc.size() == 2
        sys.stderr = open(os.devnull, "w")
        ends()
    assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == status, status
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
print("losses", first, step(), step(), flush=True)
"""


class SessionsOfRanks(unittest.TestCase):

    def test_of_functions_in_another_order_say_so(self):
        for other, says in (("h", "caught rank 0 runs @g while rank 1 runs @h; call the same functions"),
                            ("f", "caught .*do not run the same collective")):
            result = jobs.run(3, OTHER_ORDER.replace("OTHER", other))
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(result.stdout.count("f 66.0"), 3, result.stdout)
            self.assertNotIn("mixed", result.stdout)
            self.assertRegex(result.stdout, says)

    def test_do_not_go_on_after_a_step_that_ended_in_the_middle(self):
        result = jobs.run(3, IN_THE_MIDDLE)
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stdout, "rank 2 caught .*9")
        self.assertRegex(result.stdout, "rank 2 caught .*an earlier run of @main has ended in the middle.*9")
        self.assertNotIn("step 2", result.stdout)

    def test_are_left_alone_by_forked_children(self):
        result = jobs.run(2, FORKED)
        self.assertEqual(result.returncode, 0, result.stderr)
        losses = [line.split()[1:] for line in result.stdout.splitlines() if line.startswith("losses")]
        self.assertEqual(len(losses), 2, result.stdout)
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(len(set(losses[0])), 3)


if __name__ == "__main__":
    unittest.main()
