#!/usr/bin/env python3
"""What a training loop reports: lines of JSON that are there once, by rank 0 alone; progress; TensorBoard's files."""
import io
import json
import os
import stat
import sys
import tempfile
import types
import unittest
from typing import ClassVar
from unittest import mock

import numpy as np
import splitcast as sc
from splitcast import metrics

import jobs


def strict(line):
    """Of a line, as a reader has it that knows JSON and no more."""

    def refuse(name):
        raise ValueError(name)

    return json.loads(line, parse_constant=refuse)


class Files(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.path = self.directory + "/metrics.jsonl"

    def text(self):
        with open(self.path) as file:
            return file.read()

    def lines(self):
        return [strict(line) for line in self.text().splitlines()]

    def log(self, *numbers, **values):
        with metrics.Log(self.path) as log:
            for number in numbers:
                log.step(number, **values)

    def fails(self, kind, pattern, call, *arguments, **keywords):
        with self.assertRaisesRegex(kind, pattern):
            call(*arguments, **keywords)


class Lines(Files):

    def test_have_the_step_the_seconds_and_the_values(self):
        with metrics.Log(self.path) as log:
            log.step(1, loss=2.5, tokens=4096)
            self.assertEqual(len(self.lines()), 1)  # at once
            log.step(np.int64(2), loss=np.full((), 0.1, np.float32), tokens=np.int32(7), is_last=True)
            log.step(2, seen=np.array([3.0]))
        one, two, three = self.lines()
        self.assertEqual(list(one), ["step", "seconds", "loss", "tokens"])
        self.assertEqual((one["step"], one["loss"], one["tokens"]), (1, 2.5, 4096))
        self.assertEqual((two["step"], two["tokens"], two["is_last"]), (2, 7, 1))
        self.assertEqual(np.float32(two["loss"]), np.float32(0.1))
        self.assertEqual((three["step"], three["seen"]), (2, 3.0))
        self.assertTrue(0 <= one["seconds"] <= two["seconds"] <= three["seconds"] < 60)

    def test_say_what_json_has_no_number_for(self):
        self.log(1, loss=np.nan, low=-np.inf, high=np.float32(np.inf), most=10**400)
        line = self.lines()[0]
        self.assertEqual((line["loss"], line["low"], line["high"]), ("NaN", "-Infinity", "Infinity"))
        read = metrics.read(self.path)[0]
        self.assertTrue(np.isnan(read["loss"]))
        self.assertEqual((read["low"], read["high"], read["most"]), (-np.inf, np.inf, 10**400))

    def test_are_of_numbers_alone(self):
        with metrics.Log(self.path) as log:
            self.fails(sc.InvalidError, "'loss' is a str, which is not a single number: 'low'", log.step, 1, loss="low")
            self.fails(sc.InvalidError, "'loss' is a ndarray", log.step, 1, loss=np.ones(2))
            self.fails(sc.InvalidError, "'loss' is a NoneType", log.step, 1, loss=None)
            self.fails(sc.InvalidError, "named 'seconds'.*rename it", log.step, 1, seconds=1)
            self.fails(sc.InvalidError, "the step is 1.5; it must be an integer", log.step, 1.5)
            self.fails(sc.InvalidError, "must not be negative", log.step, -1)
        self.fails(sc.Error, "is closed", log.step, 1)
        self.assertFalse(os.path.exists(self.path))  # no step, no file

    def test_none_where_there_is_no_path(self):
        with metrics.Log() as log:
            log.step(1, loss=1)


class Resumed(Files):

    def test_has_each_step_once(self):
        self.log(1, 2, 3, 4, 5, loss=1)
        os.chmod(self.path, 0o640)
        before = os.stat(self.path)
        with open(self.path) as reader:
            self.log(4, 5, 6, loss=2)
            self.assertEqual(len(reader.readlines()), 5)  # the old file is as it was, for who reads it
        self.assertEqual([(line["step"], line["loss"]) for line in self.lines()],
                         [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (6, 2)])
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o640)
        self.assertNotEqual(os.stat(self.path).st_ino, before.st_ino)
        self.assertEqual(os.listdir(self.directory), ["metrics.jsonl"])
        seconds = [line["seconds"] for line in self.lines()]
        self.assertEqual(seconds, sorted(seconds))

    def test_appends_where_nothing_is_dropped(self):
        self.log(1, 2)
        before = os.stat(self.path)
        self.log(3)
        self.assertEqual([line["step"] for line in self.lines()], [1, 2, 3])
        self.assertEqual(os.stat(self.path).st_ino, before.st_ino)

    def test_drops_a_line_that_is_cut_short(self):
        self.log(1, 2)
        with open(self.path, "a") as file:
            file.write('{"step": 3, "sec')
        self.assertEqual([line["step"] for line in metrics.read(self.path)], [1, 2])
        self.log(4)
        self.assertEqual([line["step"] for line in self.lines()], [1, 2, 4])
        with open(self.path, "r+") as file:  # nothing but the last line's end is missing
            file.truncate(os.path.getsize(self.path) - 1)
        self.log(5)
        self.assertEqual([line["step"] for line in self.lines()], [1, 2, 4, 5])

    def test_goes_back_within_a_run(self):
        self.log(1, 2, 3, 4, 2, 3, 3)
        self.assertEqual([line["step"] for line in self.lines()], [1, 2, 3, 3])

    def test_goes_back_to_the_first_step(self):
        self.log(1, 2)
        self.log(1)
        self.assertEqual([line["step"] for line in self.lines()], [1])

    def test_follows_a_link(self):
        link = self.directory + "/link"
        os.symlink(self.path, link)
        for _ in range(2):
            with metrics.Log(link) as log:
                log.step(1)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(len(self.lines()), 1)

    def test_leaves_other_files_alone(self):
        for text in ("loss 1\n", '{"step": 1}\n', '{"step": 1, "seconds": 0, "loss": "low"}\n', "[1]\n"):
            with open(self.path, "w") as file:
                file.write(text)
            self.fails(sc.InvalidError,
                       "line 1 of '.*metrics.jsonl' is not a line of metrics; the file is left as it is", metrics.Log,
                       self.path)
            self.assertEqual(self.text(), text)
        self.fails(sc.InvalidError, "is not a file", metrics.Log, self.directory)
        os.remove(self.path)
        self.log(1)
        with open(self.path, "a") as file:
            file.write("loss 1\n")
        with metrics.Log(self.path) as log:
            self.fails(sc.InvalidError, "line 2", log.step, 1)
        self.assertTrue(self.text().endswith("\nloss 1\n"))


RANKS = """
import os
import signal
import sys
import splitcast as sc
from splitcast import metrics

what, path, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
sc.init(timeout=30)
if what == "alone" and sc.rank() == 1:
    sc.exchange("I make no log")
try:
    log = metrics.Log(path)
except sc.InvalidError as error:
    print("%d: %s" % (sc.rank(), error), flush=True)
    raise
with log:
    for step in range(first, last):
        sc.exchange("", "a step")
        log.step(step, rank=sc.rank())
        if what == "killed" and step == 7 and sc.rank() == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "full" and sc.rank() == 0:
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (60, 60))
"""


class Ranks(Files):

    def run_ranks(self, what, first, last):
        return jobs.run(2, RANKS, what, self.path, first, last, timeout=40)

    def test_zero_writes(self):
        result = self.run_ranks("well", 1, 4)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([(line["step"], line["rank"]) for line in self.lines()], [(1, 0), (2, 0), (3, 0)])

    def test_resumed_after_they_were_killed(self):
        self.assertNotEqual(self.run_ranks("killed", 1, 20).returncode, 0)
        self.assertEqual(self.lines()[-1]["step"], 7)
        self.assertEqual(self.run_ranks("well", 5, 11).returncode, 0)
        self.assertEqual([line["step"] for line in self.lines()], list(range(1, 11)))

    def test_all_hear_that_there_is_no_directory(self):
        self.path = self.directory + "/nowhere/metrics.jsonl"
        result = self.run_ranks("well", 1, 4)
        self.assertEqual(result.returncode, 1)
        said = f"the file of metrics '{self.path}' cannot be written: there is no directory '{os.path.realpath(self.directory)}/nowhere'"
        self.assertEqual(sorted(result.stdout.splitlines()), ["0: " + said, "1: " + said])

    def test_all_end_when_the_disk_is_full(self):
        result = self.run_ranks("full", 1, 20)
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr,
                         "rank 0: error: Error: the file of metrics '.*' cannot be written: File too large")

    def test_all_end_when_one_makes_no_log(self):
        result = self.run_ranks("alone", 1, 4)
        self.assertNotEqual(result.returncode, 0)
        for place in ("rank 0 is at creation of a metrics.Log; ", "rank 1 is at texts; "):  # either finds it out first
            self.assertRegex(result.stderr, "rank 0: error: Error: .*" + place)
        self.assertIn("start all ranks with the same program", result.stderr)


TQDM = """
made = []


class tqdm:

    def __init__(self, total=None, initial=0, unit=None, dynamic_ncols=None):
        self.said = [(total, initial, unit)]
        self.n = initial
        self.is_open = True
        made.append(self)

    def set_postfix_str(self, text, refresh):
        self.said.append(text)

    def update(self, count):
        self.n += count
        self.said.append(self.n)

    def close(self):
        self.is_open = False
"""


class Progress(unittest.TestCase):

    def shown(self, **keywords):
        """What stderr gets of four steps, 0.6 s apart."""
        with mock.patch.object(sys, "stderr", keywords.pop("stderr", io.StringIO())) as stderr, mock.patch.object(
                metrics.time, "monotonic", lambda: now):
            now = 1000.0
            with metrics.Log(**keywords) as log:
                for number in (1, 2, 3, 4):
                    log.step(number, loss=np.float32(1 / number), tokens=64)
                    now += 0.6
        return stderr

    def test_is_a_line_per_second_without_tqdm(self):
        with mock.patch.dict(sys.modules, tqdm=None):
            self.assertEqual(self.shown().getvalue(), "")  # no terminal
            self.assertEqual(self.shown(progress=False).getvalue(), "")
            self.assertEqual(self.shown(progress=True, total=4).getvalue().splitlines(),
                             ["step 1 of 4: loss 1, tokens 64", "step 3 of 4: loss 0.33333, tokens 64",
                              "step 4 of 4: loss 0.25, tokens 64"])

    def test_is_shown_on_a_terminal(self):
        ours, theirs = os.openpty()
        with mock.patch.dict(sys.modules, tqdm=None), open(theirs, "w") as terminal:
            self.shown(stderr=terminal)
            text = os.read(ours, 1000).decode()
        os.close(ours)
        self.assertEqual(text.splitlines()[0], "step 1: loss 1, tokens 64")

    def test_is_a_bar_where_there_is_tqdm(self):
        with tempfile.TemporaryDirectory() as directory, mock.patch.dict(sys.modules):
            with open(directory + "/tqdm.py", "w") as file:
                file.write(TQDM)
            sys.modules.pop("tqdm", None)
            with mock.patch.object(sys, "path", [directory] + sys.path):
                self.assertEqual(self.shown().getvalue(), "")
                self.assertNotIn("tqdm", sys.modules)
                with metrics.Log(progress=True, total=9) as log:
                    log.step(5, loss=2)
                    log.step(8, loss=0.123456)
                    log.step(6)
                bar, = sys.modules["tqdm"].made
        self.assertEqual(bar.said, [(9, 4, "step"), "loss 2", 5, "loss 0.12346", 8, "", 6])
        self.assertFalse(bar.is_open)


class Writer:
    """As that of tensorboardX."""
    made: ClassVar[list] = []

    def __init__(self, directory, purge_step, filename_suffix, flush_secs):
        self.said = [(directory, purge_step)]
        self.made.append((filename_suffix, self))

    def add_scalar(self, name, value, step):
        self.said.append((name, value, step))

    def close(self):
        self.said.append("closed")


class TensorBoard(Files):

    def test_needs_a_package(self):
        with mock.patch.dict(sys.modules, {"tensorboardX": None, "torch": None, "torch.utils.tensorboard": None}):
            self.fails(sc.InvalidError, "tensorboard is '.*tensorboardX, or by PyTorch.*neither: pip install",
                       metrics.Log, tensorboard=self.directory + "/events")
        self.assertEqual(os.listdir(self.directory), [])

    def test_hides_steps_that_are_taken_again(self):
        fake = types.SimpleNamespace(SummaryWriter=Writer)
        events = self.directory + "/runs/events"
        with mock.patch.dict(sys.modules, tensorboardX=fake):
            with metrics.Log(tensorboard=events) as log:
                self.assertTrue(os.path.isdir(events))
                log.step(5, loss=1, rate=0.5)
                log.step(6, loss=2)
                log.step(5, loss=3)
            with open(self.path, "w"):
                self.fails(sc.InvalidError, "TensorBoard's directory '.*metrics.jsonl' cannot be written", metrics.Log,
                           tensorboard=self.path)
        (suffix, first), (other, second) = Writer.made
        self.assertEqual(first.said, [(events, 5), ("loss", 1, 5), ("rate", 0.5, 5), ("loss", 2, 6), "closed"])
        self.assertEqual(second.said, [(events, 5), ("loss", 3, 5), "closed"])
        self.assertNotEqual(suffix, other)  # or the files of one second had one name


if __name__ == "__main__":
    unittest.main(verbosity=2)
