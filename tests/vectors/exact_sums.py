"""Cases of gen_vectors.py: parts of which sums have no rounding, by Python's whole numbers."""
import fractions
import itertools
import math

import numpy as np
from tensors import RNG, case, eighths, reals, rounded

OWN_RNG = np.random.default_rng(20261129)  # so that other cases stay as they are


def sumOfParts(*parts):
    """By whole numbers, rounded once to f64."""
    def one(*values):
        if not np.isfinite(values[0]):
            return values[0]
        return float(sum(fractions.Fraction(v) for v in values))
    flat = [one(*map(float, values)) for values in zip(*(part.reshape(-1) for part in parts))]
    return np.array(flat).reshape(parts[0].shape)


def unitsOf(parts):
    """The units of so many parts, which reach from 2^128 to 2^-149."""
    bits = -(-(128 + 1 + 149) // parts)
    return [fractions.Fraction(2)**(129 - bits * (part + 1)) for part in range(parts)]


def cut(x, units):
    """By Python's whole numbers, none by floats: what is left, rounded half to even to a multiple of each unit."""
    left, parts = [fractions.Fraction(float(v)) for v in x.reshape(-1)], []
    for unit in units:
        values = [round(v / unit) * unit for v in left]  # half to even
        left = [v - w for v, w in zip(left, values)]
        parts.append(np.array([float(v) for v in values]).reshape(x.shape))
    return parts


def exactSum(parts):
    for to in ("f64", "f32", "bf16", "f16"):
        with np.errstate(over="ignore"):
            case("nn.exact_sum", [(part, "f64") for part in parts],
                 [(rounded(rounded(sumOfParts(*parts), "f64" if to == "f64" else "f32"), to), to)])


def exactParts():
    """Numbers of all magnitudes. Their parts make them again, unless an f64 has digits below the last unit."""
    wide = [("f32", (2, 3)), ("f64", (7,))]
    others = [("f32", (0, 3)), ("f32", ()), ("bf16", (5,)), ("f16", (5,))]
    for of, (element, shape) in [*itertools.product([6, 7, 8], wide), *itertools.product([6], others)]:
        least, most = {"f16": (-24, 12), "bf16": (-133, 126), "f64": (-190, 126)}.get(element, (-149, 126))
        x = rounded(np.asarray(OWN_RNG.uniform(-3, 3, shape) * np.exp2(OWN_RNG.integers(least, most, shape))), element)
        x = np.where(OWN_RNG.integers(0, 5, shape) == 0, 0, x).astype(x.dtype)
        parts = cut(x, unitsOf(of))
        for part, values in enumerate(parts):
            case("nn.exact_part", [(x, element)], [(values, "f64")], f"of = {of} : i64, part = {part} : i64")
        exactSum(parts)
        if element == "f64":
            rest = np.where(sumOfParts(*parts) == x, 0.0, np.inf)  # none of these is so close to what its parts make
            case("nn.exact_rest", [(x, "f64")], [(rest, "f64")], f"of = {of} : i64")
        else:
            assert np.array_equal(sumOfParts(*parts), x.astype(np.float64))
    for of, addends in [(6, 127), (7, 16383), (8, 524287)]:
        units = [float(unit) for unit in unitsOf(of)]
        most = addends * 2.0**(53 - round(math.log2(addends + 1)))  # units
        # As many as a sum may have, which carry into every part; large parts that cancel; infinities; NaNs.
        sums = [np.array([most * unit, -most * unit, (most if part % 2 == 0 else -most) * unit, 0.0, 0.0, 0.0])
                for part, unit in enumerate(units)]
        sums[0][3:], sums[1][3:] = [-2.0 * units[0], np.inf, np.nan], [2 * units[0] + 3 * units[1], 0.0, np.nan]
        sums[-1][3] = 5 * units[-1]
        exactSum(sums)
        exactSum([np.eye(of)[part] * 5 * unit for part, unit in enumerate(units)])  # what is alone in a part
        ends = np.array([2.0**128 - 2.0**104, -2.0**127, 2.0**-149, 2.0**-126, np.inf, -np.inf, np.nan, -0.0], np.float32)
        finite = cut(np.where(np.isfinite(ends), ends, 0), unitsOf(of))
        for part, values in enumerate(finite):
            values[4:7] = [np.inf, -np.inf, np.nan] if part == 0 else [0, 0, np.nan]
            case("nn.exact_part", [(ends, "f32")], [(values, "f64")], f"of = {of} : i64, part = {part} : i64")
        large = np.array([2.0**128, -2.0**1000, 2.0**128 - 2.0**75])
        last = 2.0**(129 - of * -(-278 // of))  # the last unit
        rests = np.array([2.0**128, np.inf, -np.inf, np.nan, -0.0, last, -last / 2, 1 + 2.0**-52, last * 1.5, 2.0**-1074])
        case("nn.exact_rest", [(rests, "f64")], [(np.array([0, 0, 0, 0, 0, 0, np.inf, 0, np.inf, np.inf]), "f64")],
             f"of = {of} : i64")
        for part, values in enumerate(cut(np.where(large < 2.0**128, np.maximum(large, 0), 0), unitsOf(of))):
            values[:2] = [np.inf, -np.inf] if part == 0 else [0, 0]
            case("nn.exact_part", [(large, "f64")], [(values, "f64")], f"of = {of} : i64, part = {part} : i64")


def partsOfSquares(values, element):
    """By Python's whole numbers: of each square what is left, rounded half to even to a multiple of the unit; then all
    added up."""
    first, count = (970, 103) if element == "f64" else (237, 28)
    units = [fractions.Fraction(2)**(first - 20 * part) for part in range(count)]
    left = [fractions.Fraction(float(v))**2 for v in values]
    if element == "f64":  # rounded first
        left = [fractions.Fraction(float(v) * float(v)) for v in values]
    sums = []
    for unit in units:
        taken = [round(v / unit) * unit for v in left]
        left = [v - w for v, w in zip(left, taken)]
        sums.append(float(sum(taken)))
        assert fractions.Fraction(sums[-1]) == sum(taken)
    return np.array(sums)


def squareParts():
    for element, shape in [("f32", (7,)), ("f32", (3, 4)), ("f32", ()), ("f32", (0, 3)), ("f64", (2, 3)), ("bf16", (5,)),
                           ("f16", (5,)), ("f32", (2, 1, 40))]:
        widest = {"f16": 12, "f64": 90}.get(element, 120)
        x = rounded(reals(shape, "f64") * np.exp2(RNG.integers(-widest, widest, shape)), element)
        case("nn.square_parts", [(x, element)], [(partsOfSquares(x.reshape(-1), element), "f64")])
    infinite, nan = np.zeros(28), np.full(28, np.nan)
    infinite[0] = np.inf
    infinite[12:] += partsOfSquares([1.5], "f32")[12:]
    case("nn.square_parts", [(np.array([np.inf, 1.5, -np.inf], np.float32), "f32")], [(infinite, "f64")])
    least = np.array([2.0**-149, -2.0**-126, 2.0**-126 + 2.0**-149, -2.0**-112], np.float32)  # nothing is lost
    case("nn.square_parts", [(least, "f32")], [(partsOfSquares(least, "f32"), "f64")])
    assert sum(map(fractions.Fraction, partsOfSquares(least, "f32"))) == sum(fractions.Fraction(float(v))**2 for v in least)
    wide = np.array([2.0**-508, -1e-153, 5e148, -(2.0**494 - 2.0**441), 2.0**-536, 1e-300])
    case("nn.square_parts", [(wide, "f64")], [(partsOfSquares(wide, "f64"), "f64")])
    infinite = np.zeros(103)
    infinite[0] = np.inf
    case("nn.square_parts", [(np.array([2.0**495, -1e300]), "f64")], [(infinite, "f64")])
    case("nn.square_parts", [(np.array([1.5, np.nan], np.float32), "f32")], [(nan, "f64")])
    a, b, c = (np.concatenate([eighths((24,), "f64"), np.arange(4) / 8]) for _ in range(3))
    case("nn.sum_parts", [(a, "f64"), (b, "f64"), (c, "f64")], [(a + b + c, "f64")])
    case("nn.sum_parts", [(a, "f64")], [(a, "f64")])
    case("nn.total_of_parts", [(a, "f64")], [(np.array(a.sum()), "f64")])
