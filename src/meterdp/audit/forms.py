"""What a secret is, and every way it may be written down.

A text in other alphabets of bytes, escaped, in base64, in hexadecimal or as a plain digest, which a dictionary
undoes; a reading as any number that follows from it by a unit or a logarithm, cut or rounded to eight digits or more.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import struct
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

import numpy as np

from meterdp.core.log_scale import LOG, PLAIN, LogScale

# Kinds: what a secret is of. The last three are compared as numbers.
METER, CIRCUIT, TEXT, SALT, RELEASE_ID, DIGEST = "meter", "circuit", "text", "salt", "release id", "digest"
READING, COUNT, SEED = "reading", "count", "seed"
KINDS = (METER, CIRCUIT, TEXT, SALT, RELEASE_ID, DIGEST, READING, COUNT, SEED)

# Shorter ones occur without a leak.
FEWEST_DIGITS, FEWEST_CHARACTERS, SMALLEST_COUNT = 8, 3, 1000
MOST_DIGITS = 17
_WORD_UP_TO = 8
_SHORTEST_NEEDLE = 4
# Readings per hour of the intervals meters have, and 1 for the reading itself.
_PER_HOUR = (1, 2, 3, 4, 6, 12)


@dataclass(frozen=True)
class Secret:
    """Something that must not be found.

    Parameters
    ----------
    name : str
        What a finding calls it; it is printed.
    value : str
        As it stands in the export or the private file. Readings in kWh.
    scale : LogScale
        Of hourly energies; a reading on it gives itself away as its logarithm does.

    Raises
    ------
    ValueError
        If it could be met without a leak: a reading of fewer than 8 significant digits, a count or seed below 1000, a
        text of fewer than 3 characters. The message holds no value.
    """

    name: str
    kind: str
    value: str = field(repr=False)
    scale: LogScale = PLAIN

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"'{self.name}': its kind must be one of {', '.join(KINDS)}")
        if self.kind == READING and len(_digits_of(self.value)) < FEWEST_DIGITS:
            raise ValueError(f"'{self.name}': a reading of fewer than {FEWEST_DIGITS} digits is found without a leak")
        if self.kind in (COUNT, SEED) and not (self.value.isdecimal() and int(self.value) >= SMALLEST_COUNT):
            raise ValueError(f"'{self.name}': must be a whole number of {SMALLEST_COUNT} or more")
        if len(self.value.strip()) < FEWEST_CHARACTERS:
            raise ValueError(
                f"'{self.name}': a text of fewer than {FEWEST_CHARACTERS} characters is found without a leak"
            )


@dataclass(frozen=True)
class Needle:
    """Bytes that give a secret away; ``whole`` if letters or digits beside it make it something else, and ``digits``
    if they are digits, which any number may have behind its point.
    """

    data: bytes
    whole: bool = False
    digits: bool = False


def needles(secret: Secret) -> Iterator[Needle]:
    """Yield the bytes a secret may be written as."""
    text = secret.value.strip()
    whole = len(text) < _WORD_UP_TO or secret.kind in (READING, COUNT, SEED)
    for written in _written(text, secret):
        for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
            data = written.encode(encoding)
            if len(data) >= _SHORTEST_NEEDLE or encoding == "utf-8":
                yield Needle(data, whole and encoding == "utf-8", encoding == "utf-8" and written.isdecimal())
    yield from (Needle(data) for data in _packed(text) if len(data) >= 2 * _SHORTEST_NEEDLE)
    for value in floats(secret):
        for near in _neighbours(value):
            yield Needle(struct.pack("<d", near))
            yield Needle(struct.pack(">d", near))


def digit_strings(secret: Secret) -> set[str]:
    """Return the significant digits that a number in a text would have, rounded or cut to 8 to 17 of them."""
    found = set()
    for value in floats(secret):
        exact = f"{abs(value):.25e}".partition("e")[0].replace(".", "")
        for count in range(FEWEST_DIGITS, MOST_DIGITS + 1):
            found.update((f"{abs(value):.{count - 1}e}".partition("e")[0].replace(".", ""), exact[:count]))
    return found


def significant(token: str) -> str:
    """Return the significant digits of a number in a text, wherever its point is."""
    return "".join(c for c in token.lower().partition("e")[0] if c.isdigit()).lstrip("0")


def floats(secret: Secret) -> list[float]:
    """Return the numbers that give a reading away: kWh, Wh, per hour, and log kWh of intervals and per hour."""
    if secret.kind != READING:
        return []
    kwh = float(secret.value.replace(",", "."))
    hourly = [abs(kwh) * times for times in _PER_HOUR]
    found = [*hourly, *(1000 * value for value in hourly), *(math.log(value) for value in hourly if value > 0)]
    if secret.scale.kind != LOG:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = [secret.scale.log(kwh * times) for times in _PER_HOUR]
            logs += [secret.scale.over(60 / times).log(kwh) for times in _PER_HOUR]
        found += [float(value) for value in logs if np.isfinite(value)]
    return found


def integers(secret: Secret) -> list[int]:
    """Return the whole numbers that give a secret away; a meter id of digits may have become one."""
    value = secret.value.strip()
    if secret.kind == READING or not value.isdecimal() or not SMALLEST_COUNT <= int(value) < 2**53:
        return []
    return [int(value)]


def _digits_of(value: str) -> str:
    try:
        number = Decimal(value.strip().replace(",", "."))
    except InvalidOperation:
        return ""
    return "".join(map(str, number.as_tuple().digits)).lstrip("0") if number.is_finite() else ""


def _written(text: str, secret: Secret) -> set[str]:
    forms = {text, text.lower(), text.upper(), json.dumps(text)[1:-1], html.escape(text), repr(text)[1:-1]}
    forms |= {
        urllib.parse.quote(text, safe=""),
        urllib.parse.quote_plus(text),
        text.encode("unicode_escape").decode(),
    }
    for number in integers(secret):
        forms |= {f"{number:,}", f"{number:_}", f"{number:,}".replace(",", "'"), f"{number:,}".replace(",", " ")}
    if secret.kind == READING:
        forms |= {text.replace(".", ",")}
    return forms


def _packed(text: str) -> set[bytes]:
    """Base64 in its three alignments, hexadecimal, and plain digests or their beginning."""
    data = text.encode()
    forms = {data.hex().encode(), data.hex().upper().encode()}
    for offset in range(3):
        # What the bytes around it take part in is cut off on both sides.
        whole = base64.b64encode(b"\0" * offset + data)
        bits = 8 * offset
        begin, end = -(-bits // 6), (bits + 8 * len(data)) // 6
        forms |= {whole[begin:end], whole[begin:end].translate(bytes.maketrans(b"+/", b"-_"))}
    for name in ("md5", "sha1", "sha256"):
        digest = hashlib.new(name, data, usedforsecurity=False).digest()
        forms |= {digest[:8], digest.hex()[:16].encode(), digest.hex()[:16].upper().encode()}
    return forms


def _neighbours(value: float) -> list[float]:
    """The value and those next to it: sums and logarithms may differ in the last digit."""
    up, down = np.nextafter(value, np.inf), np.nextafter(value, -np.inf)
    return [value, -value, up, down, -up, -down]
