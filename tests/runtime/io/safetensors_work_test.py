#!/usr/bin/env python3
"""How the work of safetensors files grows with their tensors, in instructions: safetensors_work_test.py PROGRAM

Of writing a file of many tensors, attaching another writer to it, and reading it back, all by name, counted by valgrind:
the same number in every run, and no seconds. Twice the tensors are at most 2.2 times the instructions. What the first
tensors cost is taken from what all cost, so that starting the program does not count.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
FEW = 800


def instructionsOf(tensors):
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", PROGRAM,
             os.path.join(folder, "file"), str(tensors)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"exit status {result.returncode}: {result.stderr[-2000:]}"
    return int(re.search(r"I +refs: +([\d,]+)", result.stderr)[1].replace(",", ""))


class SafetensorsWorkTest(unittest.TestCase):

    def testTwiceTheTensors(self):
        small, middle, large = (instructionsOf(FEW * times) for times in (1, 2, 4))
        growth = (large - middle) / (middle - small)
        print(f"{small}, {middle}, {large} instructions: {growth:.3f} times")
        self.assertLess(growth, 2.2)
        self.assertGreater(growth, 1.7)  # else these are not the tensors' steps


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
