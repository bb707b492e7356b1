"""Element types, values and cases of gen_vectors.py. bf16, which NumPy does not have, lives in float32."""
import fractions
import math

import numpy as np

RNG = np.random.default_rng(20240607)
CASES = []
NUMPY_TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i32": np.int32, "i64": np.int64}


def toBf16(values):
    """float32 values that bf16 can hold: to nearest, ties to even."""
    bits = np.asarray(values, np.float32).reshape(-1).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) << 16
    return rounded.astype(np.uint32).view(np.float32).reshape(np.shape(values))


def rounded(values, element):
    """As an array whose values the element type can hold; bf16 lives in float32."""
    if element == "bf16":
        return toBf16(values)
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(NUMPY_TYPES[element])


def reals(shape, element, low=-3.0, high=3.0):
    return rounded(np.round(RNG.uniform(low, high, shape), 3), element)


def eighths(shape, element):
    return rounded(RNG.integers(-32, 33, shape) / 8.0, element)


def realText(value):
    """As MLIR reads it: a point before the exponent."""
    digits, *exponent = repr(value).split("e")
    return "e".join([digits if "." in digits else digits + ".0"] + exponent)


def integers(shape, element, low=-50, high=50):
    return rounded(RNG.integers(low, high, shape), element)


def typeText(array, element):
    return "tensor<" + "".join(f"{extent}x" for extent in np.shape(array)) + element + ">"


def numberJson(value, element):
    if isinstance(value, np.integer):
        return int(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    # For f32 the shortest text that gives the value back in f32; else the value itself.
    return float(str(value)) if element == "f32" else float(value)


def tensorJson(tensor):
    array, element = tensor
    numbers = [numberJson(value, element) for value in np.asarray(array).reshape(-1)]
    return {"type": typeText(array, element), "data": numbers}


def case(op, operands, results, attributes="", tolerance=0, absolute=0):
    """operands and results are (array, element type) pairs."""
    CASES.append({"op": op, "attributes": attributes, "operands": [tensorJson(t) for t in operands],
                  "results": [tensorJson(t) for t in results], "tolerance": tolerance, "absolute": float(absolute)})


def roundedOnce(x, bits, least, most):
    """To `bits` binary digits, fewer below 2^least; to nearest, ties to even; beyond `most` infinite."""
    if not math.isfinite(x) or x == 0:
        return x
    exponent = max(math.frexp(x)[1] - 1, least) - (bits - 1)
    result = math.copysign(round(fractions.Fraction(abs(x)) / fractions.Fraction(2)**exponent) * 2.0**exponent, x)
    return math.copysign(math.inf, x) if abs(result) > most else result
