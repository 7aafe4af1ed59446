"""How numbers are written for a reader: thousands separators, significant digits, percentages, mean and error.

One place, so that a number looks the same in a sentence, a table and a figure. Nothing is rounded to a claim it does
not support: 99.97 % is not written 100.0 %, and what is not finite is written as such.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

MISSING = "–"
_POWERS_FROM = 7  # digits before the point beyond which powers of ten are easier to read
LEAST_PROBABILITY = 1e-50
UNCERTAIN = 2.0  # standard errors within which a difference is no finding
_NEGATIVE_ZERO = re.compile(r"-(?=0(?:\.0*)?(?![\d.]))")
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def count(number: int) -> str:
    """Write a whole number with thousands separators.

    Examples
    --------
    >>> count(1234567)
    '1,234,567'
    """
    return _signed(f"{int(number):,}")


def counted(number: int, noun: str) -> str:
    """Write a number of things whose plural ends in s.

    Examples
    --------
    >>> counted(1, "household"), counted(1409, "household")
    ('1 household', '1,409 households')
    """
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def significant(number: float | None, digits: int = 3) -> str:
    """Write a number with ``digits`` significant digits; the whole part is never rounded away.

    Examples
    --------
    >>> significant(0.0123456), significant(12345.6), significant(1.2e-7), significant(float("inf"))
    ('0.0123', '12,346', '1.20 × 10⁻⁷', '∞')
    """
    if number is None or math.isnan(number):
        return MISSING
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    if number == 0:
        return "0"
    # Round first: 9.996 has the exponent of 10.0.
    exponent = math.floor(math.log10(abs(float(f"{number:.{digits - 1}e}"))))
    if exponent < -4 or exponent >= _POWERS_FROM:
        mantissa, power = f"{number:.{digits - 1}e}".split("e")
        return _signed(f"{mantissa} × 10{str(int(power)).translate(_SUPERSCRIPT)}")
    return _signed(f"{number:,.{max(digits - 1 - exponent, 0)}f}")


def plain(number: float) -> str:
    """Write a parameter the way a person would: no trailing zeros.

    Examples
    --------
    >>> plain(2.0), plain(0.68571), plain(1e-5)
    ('2', '0.68571', '10⁻⁵')
    """
    if not math.isfinite(number):
        return significant(number)
    if number and not 1e-3 <= abs(number) < 1e7:
        mantissa, power = f"{number:e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
        power = f"10{str(int(power)).translate(_SUPERSCRIPT)}"
        return _signed(power if mantissa == "1" else f"{mantissa} × {power}")
    return _signed(f"{number:,.10g}")


def percent(share: float | None) -> str:
    """Write a share as a percentage with one decimal, never rounded to none or all.

    Examples
    --------
    >>> percent(0.4876), percent(0.99997), percent(0.00001), percent(1.0)
    ('48.8 %', '>99.9 %', '<0.1 %', '100 %')
    """
    if share is None or not math.isfinite(share):
        return significant(share)
    if share == 0 or math.isclose(share, 1, rel_tol=1e-12):  # shares add up to one up to rounding
        return f"{share:.0%}".replace("%", " %")
    if 0 < share < 0.0005:
        return "<0.1 %"
    if 0.9995 <= share < 1:
        return ">99.9 %"
    return _signed(f"{100 * share:,.1f} %")


def bound(share: float) -> str:
    """Write an upper bound of a probability, rounded up, and one close to 1 with the digits that tell.

    Examples
    --------
    >>> bound(0.731), bound(0.73106), bound(0.999994), bound(1 - 1e-12)
    ('73.1 %', '73.2 %', '99.9994 %', '100 %')
    """
    if not 0.0005 <= share < 1:
        return percent(share)
    up = ((n, math.ceil(100 * share * 10**n - 1e-6) / 10**n) for n in range(1, 9))
    return next((f"{rounded:.{n}f} %" for n, rounded in up if rounded < 100), "100 %")


def probability(value: float | None) -> str:
    """Write a probability with three significant digits, never rounded to certainty.

    Below ``LEAST_PROBABILITY`` it says no more than that: such a number tells where the computation stopped.

    Examples
    --------
    >>> probability(0.51345), probability(1.0), probability(0.99983), probability(1.2e-6), probability(1e-300)
    ('0.513', '1', '>0.999', '1.20 × 10⁻⁶', '<10⁻⁵⁰')
    """
    if value is None or not math.isfinite(value):
        return significant(value)
    if value == 1:
        return "1"
    if 0 < value < LEAST_PROBABILITY:
        return f"<{plain(LEAST_PROBABILITY)}"
    return ">0.999" if 0.999 < value < 1 else significant(value)


def plus_minus(mean: float | None, error: float | None) -> str:
    """Write a mean and its standard error, the error with two significant digits and the mean to the same place.

    Examples
    --------
    >>> plus_minus(1.23456, 0.0421), plus_minus(28312.4, 1204.0), plus_minus(float("inf"), float("nan"))
    ('1.235 ± 0.042', '28,300 ± 1,200', '∞')
    """
    if error is None or not math.isfinite(error) or mean is None or not math.isfinite(mean):
        return significant(mean)
    if error == 0:
        return f"{significant(mean)} ± 0"
    if abs(mean) >= 10**_POWERS_FROM:
        power = math.floor(math.log10(abs(mean)))
        return f"({plus_minus(mean / 10**power, error / 10**power)}) × 10{str(power).translate(_SUPERSCRIPT)}"
    decimals = 1 - math.floor(math.log10(abs(float(f"{error:.1e}"))))
    if decimals > 6:
        return f"{significant(mean)} ± {significant(error, 2)}"
    # Two digits of the error and no more of the mean, however large both are.
    shown = (round(float(number), decimals) if decimals < 0 else number for number in (mean, error))
    return _signed(" ± ".join(f"{number:,.{max(decimals, 0)}f}" for number in shown))


def size_range(sizes: Mapping[str | None, int]) -> str:
    """Return from which to which size named groups are, and which is the smallest.

    Examples
    --------
    >>> size_range({"north": 120, "south": 31}), size_range({"north": 120})
    ("31 ('south') to 120", '120')
    """
    smallest = min(sizes, key=sizes.__getitem__)
    least, most = sizes[smallest], max(sizes.values())
    return f"{least:,}" if least == most else f"{least:,} ('{smallest}') to {most:,}"


def differs(mean: float, error: float) -> bool:
    """Return whether a difference is a finding: further from zero than ``UNCERTAIN`` standard errors.

    Without an error it is; a number that is not finite always is.
    """
    return not (math.isfinite(mean) and math.isfinite(error) and abs(mean) <= UNCERTAIN * error)


def _signed(text: str) -> str:
    """Write a minus sign, but none before a zero: what rounds to nothing has no sign."""
    return _NEGATIVE_ZERO.sub("", text).replace("-", "−")
