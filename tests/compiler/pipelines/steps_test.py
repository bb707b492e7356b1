#!/usr/bin/env python3
"""How the compiler's work grows, in instructions: steps_test.py SPLITCAST_OPT

Of a whole compilation of rank 0's plan, counted by valgrind: the same number in every run, and no seconds. Twice the layers
are at most 2.3 times the instructions, 1,024 ranks at most 1.2 times those of 2, and four further axes of size 1 at most 1.1
times those of a mesh without. Work that grows with the square shows at these sizes already: between 16 and 64 layers, what
the first half of the layers costs is taken from what all cost, so that starting the program does not count.
"""
import re
import subprocess
import sys
import unittest

from growth_test import mlp

OPT = None


def instructionsOf(text, zero):
    result = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", OPT, "-",
                             f"--enable-zero={zero}", "--sbp-localize=rank=0", "--local-pipeline", "--exec-lower", "-o",
                             "/dev/null"], input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"exit status {result.returncode}: {result.stderr[-2000:]}"
    return int(re.search(r"I +refs: +([\d,]+)", result.stderr)[1].replace(",", ""))


class StepsTest(unittest.TestCase):
    def checkTwiceTheLayers(self, zero):
        small, middle, large = (instructionsOf(mlp(layers, 2), zero) for layers in (16, 32, 64))
        growth = (large - middle) / (middle - small)
        print(f"{zero}: {small}, {middle}, {large} instructions: {growth:.3f} times")
        self.assertLess(growth, 2.3)
        self.assertGreater(growth, 1.7)  # else these are not the layers' steps

    def testTwiceTheLayersInBuckets(self):
        self.checkTwiceTheLayers("stage=3")

    def testTwiceTheLayersByRows(self):
        self.checkTwiceTheLayers("stage=2 strategy=tensor")

    def testMoreRanksCostNothing(self):
        few, many = (instructionsOf(mlp(16, ranks), "stage=3") for ranks in (2, 1024))
        print(f"2 ranks: {few} instructions, 1,024: {many}: {many / few:.3f} times")
        self.assertLess(many / few, 1.2)

    def testAxesOfSizeOneCostNothing(self):
        text = mlp(16, 2)
        axes = text.replace("[dp = 2]", "[dp = 2, tp = 1, a = 1, b = 1, c = 1]").replace("[S(0)]", "[S(0), B, B, B, B]")
        one, five = (instructionsOf(t, "stage=3 axis=dp") for t in (text, axes))
        print(f"1 axis: {one} instructions, 5: {five}: {five / one:.3f} times")
        self.assertLess(five / one, 1.1)


if __name__ == "__main__":
    OPT = sys.argv.pop(1)
    unittest.main()
