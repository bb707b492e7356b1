"""Cases of gen_vectors.py: parts of which sums have no rounding, by Python's whole numbers."""
import fractions

import numpy as np

from tensors import RNG, case, eighths, reals, rounded


def sumOfParts(*parts):
    """By whole numbers, rounded once to f64."""
    def one(*values):
        if not np.isfinite(values[0]):
            return values[0]
        return float(sum(fractions.Fraction(v) for v in values))
    flat = [one(*map(float, values)) for values in zip(*(part.reshape(-1) for part in parts))]
    return np.array(flat).reshape(parts[0].shape)


def exactParts():
    """Parts by Python's whole numbers, none by floats: what is left, rounded half to even to a multiple of the unit."""
    units = [fractions.Fraction(2)**8, fractions.Fraction(1, 2**32), fractions.Fraction(1, 2**72)]
    for element, shape in [("f32", (2, 3)), ("f64", (7,)), ("f32", (0, 3)), ("f32", ()), ("bf16", (5,)), ("f16", (5,))]:
        scales = np.exp2(RNG.integers(-20 if element == "f16" else -60, 12 if element == "f16" else 46, shape))
        x = rounded(reals(shape, "f64") * scales, element)
        x = np.where(RNG.integers(0, 5, shape) == 0, 0, x).astype(x.dtype)
        left, parts = [fractions.Fraction(float(v)) for v in x.reshape(-1)], []
        for part, unit in enumerate(units):
            values = [round(v / unit) * unit for v in left]  # half to even
            left = [v - w for v, w in zip(left, values)]
            parts.append(np.array([float(v) for v in values]).reshape(shape))
            case("nn.exact_part", [(x, element)], [(parts[-1], "f64")], f"part = {part} : i64")
        for to in ("f64", "f32"):
            case("nn.exact_sum", [(part, "f64") for part in parts], [(rounded(sumOfParts(*parts), to), to)])
    # Where the first two cancel, what the third adds is not lost; infinity stays.
    large = [np.array([-2.0**20, 2.0**60, 0.0, np.inf, np.nan]), np.array([2.0**20 + 3 * 2.0**-32, 2.0**-32, -2.0**21, 0, 0]),
             np.array([2.0**-40, 2.0**-72, 2.0**-70, 0, 0])]
    for to in ("f64", "f32", "bf16", "f16"):
        with np.errstate(over="ignore"):
            case("nn.exact_sum", [(part, "f64") for part in large],
                 [(rounded(rounded(sumOfParts(*large), "f64" if to == "f64" else "f32"), to), to)])
    ends = np.array([2.0**47, -2.0**47, 2.0**47 - 2.0**23, np.inf, -np.inf, np.nan, -0.0, 128.0, 384.0], np.float32)
    high = np.array([np.inf, -np.inf, 2.0**47 - 2.0**23, np.inf, -np.inf, np.nan, 0.0, 0.0, 512.0])
    rest = np.array([0, 0, 0, 0, 0, np.nan, 0, 128.0, -128.0])
    nothing = np.array([0, 0, 0, 0, 0, np.nan, 0, 0, 0])
    for part, values in enumerate([high, rest, nothing]):
        case("nn.exact_part", [(ends, "f32")], [(values, "f64")], f"part = {part} : i64")


def squareParts():
    """By Python's whole numbers: of each square what is left, rounded half to even to a multiple of the unit; then all added up."""
    units = [fractions.Fraction(2)**(237 - 20 * part) for part in range(24)]

    def partsOf(values, element):
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
    for element, shape in [("f32", (7,)), ("f32", (3, 4)), ("f32", ()), ("f32", (0, 3)), ("f64", (2, 3)), ("bf16", (5,)),
                           ("f16", (5,)), ("f32", (2, 1, 40))]:
        widest = {"f16": 12, "f64": 90}.get(element, 120)
        x = rounded(reals(shape, "f64") * np.exp2(RNG.integers(-widest, widest, shape)), element)
        case("nn.square_parts", [(x, element)], [(partsOf(x.reshape(-1), element), "f64")])
    infinite, nan = np.zeros(24), np.full(24, np.nan)
    infinite[0] = np.inf
    infinite[12:] += partsOf([1.5], "f32")[12:]
    case("nn.square_parts", [(np.array([np.inf, 1.5, -np.inf], np.float32), "f32")], [(infinite, "f64")])
    case("nn.square_parts", [(np.array([1.5, np.nan], np.float32), "f32")], [(nan, "f64")])
    a, b, c = (eighths((24,), "f64") for _ in range(3))
    case("nn.sum_parts", [(a, "f64"), (b, "f64"), (c, "f64")], [(a + b + c, "f64")])
    case("nn.sum_parts", [(a, "f64")], [(a, "f64")])
    case("nn.total_of_parts", [(a, "f64")], [(np.array(a.sum()), "f64")])
