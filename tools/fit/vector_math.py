# SPDX-License-Identifier: Apache-2.0
r"""Writes src/backend/llvm/vector_math/coefficients.h to stdout.

    python3 tools/fit/vector_math.py | clang-format --assume-filename=coefficients.h \
        > src/backend/llvm/vector_math/coefficients.h

Each line of the table names an array, what it approximates, over which range, and the largest
relative error of the *function* (not of the fitted part), before any rounding in its evaluation.
"""
from mpmath import mp, mpf

from remez import fit_poly, fit_rational, round32, round64

SQRT2 = mp.sqrt(2)
HALF_LN2 = mp.log(2) / 2 * mpf("1.002")  # reduction may miss the nearest integer by a rounding
QUARTER_PI_SQ = (mp.pi / 4 * mpf("1.001")) ** 2
LOG_Z = ((SQRT2 - 1) / (SQRT2 + 1)) ** 2 * mpf("1.0001")


def of_sqrt(fn):
    return lambda u: fn(mp.sqrt(u))


def over_x(fn):
    return of_sqrt(lambda x: fn(x) / x)


def tail(fn):
    """(fn(x) - x) / x^3 as a function of x^2, for odd fn with fn'(0) = 1."""
    return of_sqrt(lambda x: (fn(x) - x) / x**3)


def tail_weight(fn):
    return of_sqrt(lambda x: x**3 / fn(x))


def expm1_over_x(x):
    return mp.expm1(x) / x


def cos_tail(u):
    return (mp.cos(mp.sqrt(u)) - 1 + u / 2) / u**2


def log_tail(f):
    return (mp.log1p(f) - f + f * f / 2) / f**3


def log_of_square(z):
    """(2 atanh(s) / s - 2) / z with z = s^2."""
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) / s - 2) / z


def log_of_square2(z):
    """(atanh(s) / s - 1 - z/3) / z^2."""
    s = mp.sqrt(z)
    return (mp.atanh(s) / s - 1 - z / 3) / z**2


ERF_SHIFT = mpf("1.75")


def scaled_erfc(y):
    x = y + ERF_SHIFT
    return mp.erfc(x) * mp.exp(x * x)


# name, comment, function, degree, range, weight, rounding
POLYNOMIALS = [
    ("kExp32", "(e^r - 1) / r, |r| <= ln2/2, error relative to e^r", expm1_over_x, 4,
     -HALF_LN2, HALF_LN2, lambda x: abs(x) * mp.exp(-x), round32),
    ("kExpm1F32", "(e^r - 1) / r, |r| <= ln2/2, error relative to e^r - 1", expm1_over_x, 5,
     -HALF_LN2, HALF_LN2, lambda x: abs(x / mp.expm1(x)), round32),
    ("kExpm1F64", "the same for f64", expm1_over_x, 10,
     -HALF_LN2, HALF_LN2, lambda x: abs(x / mp.expm1(x)), round64),
    ("kExp2Pow32", "2^r, |r| <= 1/2, for pow of f32 in double", lambda x: mp.power(2, x), 6,
     mpf("-0.501"), mpf("0.501"), lambda x: mp.power(2, -x), round64),
    ("kExp2Fraction32", "2^f, 0 <= f < 1", lambda x: mp.power(2, x), 5,
     mpf(0), mpf(1), lambda x: mp.power(2, -x), round32),
    ("kLog32", "(log(1+f) - f + f^2/2) / f^3, 1+f in [sqrt(1/2), sqrt(2)]", log_tail, 6,
     1 / SQRT2 - 1, SQRT2 - 1, lambda f: abs(f**3 / mp.log1p(f)), round32),
    ("kLog64", "(2 atanh(s)/s - 2) / z, z = s^2, s = f/(2+f)", log_of_square, 6,
     mpf(0), LOG_Z, lambda z: z / 2, round64),
    ("kLogPow32", "the same, for pow of f32 in double", log_of_square, 3,
     mpf(0), LOG_Z, lambda z: z / 2, round64),
    ("kLogPow64", "(atanh(s)/s - 1 - z/3) / z^2", log_of_square2, 7,
     mpf(0), LOG_Z, lambda z: z**2, round64),
    ("kSin32", "(sin(r) - r) / r^3 in r^2, |r| <= pi/4", tail(mp.sin), 2,
     mpf(0), QUARTER_PI_SQ, tail_weight(mp.sin), round32),
    ("kSin64", "the same for f64", tail(mp.sin), 5,
     mpf(0), QUARTER_PI_SQ, tail_weight(mp.sin), round64),
    ("kCos32", "(cos(r) - 1 + r^2/2) / r^4 in r^2, |r| <= pi/4", cos_tail, 2,
     mpf(0), QUARTER_PI_SQ, of_sqrt(lambda x: x**4 / mp.cos(x)), round32),
    ("kCos64", "the same for f64", cos_tail, 5,
     mpf(0), QUARTER_PI_SQ, of_sqrt(lambda x: x**4 / mp.cos(x)), round64),
    ("kAtan32", "(atan(x) - x) / x^3 in x^2, |x| <= 1", tail(mp.atan), 7,
     mpf(0), mpf(1), tail_weight(mp.atan), round32),
    ("kAtan64", "the same for f64", tail(mp.atan), 19,
     mpf(0), mpf(1), tail_weight(mp.atan), round64),
    ("kAsin32", "(asin(x) - x) / x^3 in x^2, |x| <= 1/2", tail(mp.asin), 4,
     mpf(0), mpf("0.25"), tail_weight(mp.asin), round32),
    ("kAsin64", "the same for f64", tail(mp.asin), 12,
     mpf(0), mpf("0.25"), tail_weight(mp.asin), round64),
    ("kErfSmall64", "erf(x)/x in x^2, |x| <= 1", over_x(mp.erf), 11,
     mpf(0), mpf(1), of_sqrt(lambda x: x / mp.erf(x)), round64),
    ("kErfLarge64", "erfc(x) e^(x^2) in x - 7/4, x in [1, 6], error absolute in erf", scaled_erfc, 20,
     mpf("-0.7501"), mpf("4.25"), lambda y: mp.exp(-((y + ERF_SHIFT) ** 2)), round64),
]

# numerator and denominator in x^2, P(0) = 1, up to where the function rounds to 1
RATIONALS = [
    ("kErf32", "erf(x)/x, |x| <= 3.93", mp.erf, 6, 6, mpf("3.93")),
]


def fit_odd_rational(fn, n, d, limit):
    """fn(x) ~ (x + x u N(u)) / Q(u), u = x^2: N, Q and the error."""
    f, w = over_x(fn), of_sqrt(lambda x: x / fn(x))
    num, den, _ = fit_rational(f, n, d, mpf(0), limit**2, w)
    den = [round32(c / num[0]) for c in den]
    q = lambda u: mp.polyval(den[::-1], u)  # noqa: E731
    # N again, against the denominator as rounded
    num, error = fit_poly(lambda u: (f(u) * q(u) - 1) / u, list(range(n - 1)), mpf(0), limit**2,
                          lambda u: u * w(u) / q(u), round32)
    return num, den, error


def emit(name, comment, coefficients, error):
    print(f"// {comment}: 2^{float(mp.log(error, 2)):.1f}")
    print(f"inline constexpr double {name}[] = {{")
    for c in coefficients:
        print(f"    {float(c).hex()},")
    print("};\n")


def main():
    print("// SPDX-License-Identifier: Apache-2.0")
    print("// Minimax coefficients, lowest power first, each exactly a float where the name says 32.")
    print("// Written by tools/fit/vector_math.py; the exponent after each description is the largest")
    print("// relative error of the approximation itself.")
    print("#pragma once\n")
    print("namespace tenon::backend::llvm_cpu::vector_math {\n")
    for name, comment, fn, degree, lo, hi, weight, rounding in POLYNOMIALS:
        c, error = fit_poly(fn, list(range(degree + 1)), lo, hi, weight, rounding)
        emit(name, comment, c, error)
    for name, comment, fn, n, d, limit in RATIONALS:
        num, den, error = fit_odd_rational(fn, n, d, limit)
        emit(name + "Num", f"N of {comment}, is (1 + x^2 N) / Q", num, error)
        emit(name + "Den", "its Q", den, error)
    print("}  // namespace tenon::backend::llvm_cpu::vector_math")


main()
