#!/usr/bin/env python3
"""What goes wrong on one rank alone is an error on all, and never mixes their values."""
import concurrent.futures
import os
import subprocess
import time
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
sc.exchange("f")  # all have printed it before any rank fails, which would end the others
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


ENDED = HEAD + """
graph = sc.Graph()
loss = sc.mean(sc.linear(graph.input("x", sc.f32, (6, 5), sc.split(0)), "w", 3))
graph.minimize(loss, sc.Sgd(0.1))
session = graph.compile(enable_zero=3)
session.run("main", whole=True, x=np.ones((6, 5), np.float32))
if sc.rank() == 0:
    CALL
"""


SESSIONS = HEAD + """
import sys

def make(seed):
    graph = sc.Graph()
    graph.function("train")
    x = graph.input("x", sc.f32, (12, 4), sc.split(0))
    rate = graph.input("rate", sc.f32, ())
    loss = sc.mean(sc.tanh(sc.linear(x, "l", 4))) * rate
    graph.output("loss", loss)
    graph.minimize(loss, sc.Sgd(0.5))
    return graph.compile(enable_zero=2, seed=seed)

teacher, student = make(1), make(2)
x = np.arange(48, dtype=np.float32).reshape(12, 4) / 50
step = lambda of, rate=1.0: of.run("train", whole=True, x=x, rate=np.float32(rate))
odd = sc.rank() == sc.size() - 1
try:
    if sys.argv[1] == "order":
        step(student if odd else teacher)
        step(teacher if odd else student)
    if sys.argv[1] == "later order":
        for of in (teacher, student, teacher, student):
            step(of)
        step(student if odd else teacher)
        step(teacher if odd else student)
    if sys.argv[1] == "skipped":
        for number in range(3):
            if not (odd and number == 1):
                step(teacher)
        teacher.read("l.weight")
    if sys.argv[1] == "rate":
        for number in range(4):
            step(teacher, 0.5 if odd and number == 2 else 1.0)
            print("step", number, flush=True)
    if sys.argv[1] == "sites":
        sc.exchange("text", "one" if odd else "other")
    print("went on", flush=True)
except sc.Error as error:
    print("caught " + str(error).replace("\\n", " ") + "\\n", end="", flush=True)  # in one write: ranks print at once
    raise
"""

# One of three ranks has another secret than the others, or none.
SECRETS = """
import os
import sys

odd, secret = int(sys.argv[1]), sys.argv[2]
os.environ["SPLITCAST_SECRET"] = secret if int(os.environ["RANK"]) == odd else "what the other two know"
import splitcast as sc

sc.init(timeout=15)
print("went on", sc.exchange("text"), flush=True)
"""


def with_unlike_secrets(odd, secret, port):
    """The exit statuses and stderrs of three ranks, and the seconds until all had ended."""
    begin = time.monotonic()
    ranks = jobs.start_as_torchrun_does(3, jobs.write(SECRETS), port, str(odd), secret, stderr=subprocess.PIPE)
    outputs = [rank.communicate(timeout=60) for rank in ranks]
    assert not any(output for output, _ in outputs), outputs
    return [rank.returncode for rank in ranks], [errors for _, errors in outputs], time.monotonic() - begin


class SessionsOfRanks(unittest.TestCase):

    def test_that_are_used_unlike_say_so_on_all_ranks(self):
        run = "run {} of session {}, of @train".format
        inputs = "comparing inputs of 'train' of session {} after 0 runs".format  # before the first run of a function
        for what, says in (("order", [inputs(1), inputs(2)]), ("later order", [run(3, 1), run(3, 2)]),
                           ("skipped", [run(3, 1), "reading @l.weight of session 1 after 2 runs"]),
                           ("rate", ["different values", run(3, 1) + " with rate = 1;",
                                     run(3, 1) + " with rate = 0.5;"]),
                           ("sites", ["is at one", "is at other"])):
            for ranks in (2, 3):
                with self.subTest(what=what, ranks=ranks):
                    result = jobs.run(ranks, SESSIONS, what)
                    self.assertNotEqual(result.returncode, 0)
                    self.assertNotIn("went on", result.stdout)
                    self.assertNotIn("step 2", result.stdout.splitlines())
                    caught = [line for line in result.stdout.splitlines() if line.startswith("caught")]
                    self.assertEqual(len(caught), ranks, result.stdout + result.stderr)
                    for line in caught:
                        for text in says:
                            self.assertIn(text, line)

    def test_of_functions_in_another_order_say_so(self):
        for other, says in (("h", "caught .*do not run the same collective.*inputs of 'h'"),
                            ("f", "caught .*do not run the same collective.*of @f")):
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
        self.assertNotRegex(result.stdout, "(?m)^rank . step 2$")
        self.assertRegex(result.stdout, "rank 2 caught step 2 of @main: .*9")

    def test_do_not_wait_for_ranks_that_have_ended(self):
        for launcher, call, what in ((jobs.MPIRUN, "session.read('w.weight')", "w.weight"),
                                     (jobs.LAUNCH, "sc.exchange('a', 'pieces of news')", "pieces of news")):
            begin = time.monotonic()
            result = jobs.run(2, ENDED.replace("CALL", call).replace("timeout=20", "timeout=300"), launcher=launcher)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertRegex(result.stderr, f"{what}.*: rank 0 is at .*, but rank 1 has ended its program; let all "
                                            "ranks run functions")
            self.assertIn("rank 1: error: rank 0 failed: ", result.stderr)
            self.assertLess(time.monotonic() - begin, 30)

    def test_are_left_alone_by_forked_children(self):
        result = jobs.run(2, FORKED)
        self.assertEqual(result.returncode, 0, result.stderr)
        losses = [line.split()[1:] for line in result.stdout.splitlines() if line.startswith("losses")]
        self.assertEqual(len(losses), 2, result.stdout)
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(len(set(losses[0])), 3)

    def test_with_unlike_secrets_say_so_on_all_ranks(self):
        """Rank 0 waits for the others as long as it may, since who was refused may be a stranger."""
        advice = "give all ranks of a job the same SPLITCAST_SECRET or SPLITCAST_SECRET_FILE"
        cases = [(0, "of another job, of before"), (1, "of another job, of before"), (2, "of another job, of before"),
                 (1, ""), (0, "")]
        first = 32000 + os.getpid() % 150 * len(cases)
        with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:  # which sleep
            results = [pool.submit(with_unlike_secrets, *case, first + i) for i, case in enumerate(cases)]
        for (odd, secret), result in zip(cases, results):
            with self.subTest(odd=odd, secret=secret):
                statuses, errors, seconds = result.result()
                self.assertEqual(statuses, [1, 1, 1], errors)
                self.assertLess(seconds, 50, errors)
                lacks, has = ("it has no secret, and this rank has one", "it has a secret, and this rank has none")
                to_rank_0 = "it has another secret" if secret else has if odd == 0 else lacks
                to_refused = "it has another secret" if secret else lacks if odd == 0 else has
                for rank, text in enumerate(errors):
                    is_refused = rank != 0 and odd in (0, rank)
                    self.assertRegex(text, f"Error: .*{to_refused if is_refused else to_rank_0}; {advice}", errors)
                    self.assertEqual("a process that is none of this job" in text, is_refused, errors)
                    self.assertEqual("was refused: " in text, not is_refused, errors)
                missing = "ranks 1, 2 of 3" if odd == 0 else f"rank {odd} of 3"
                self.assertIn(f"{missing} did not connect", errors[0])

    def test_with_unlike_secrets_end_with_their_launcher(self):
        result = jobs.run(3, SECRETS, 1, "of another job, of before", launcher=jobs.LAUNCH)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, "Error: rank 1 of 3 has found .*it has another secret; give all ranks")
        self.assertIn("rank 1 has failed (exit status 1), which ends the job", result.stderr)
        self.assertNotIn("did not end within", result.stderr)


if __name__ == "__main__":
    unittest.main()
