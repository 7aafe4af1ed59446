"""Make a figure smaller for a page that holds many: the same picture, in half the bytes.

Matplotlib writes coordinates to a millionth of a point, names every group and spends 70 bytes on each letter. Files
on disk stay as it wrote them; what a page holds is rounded to a hundredth of a point and loses what nobody sees.
"""

from __future__ import annotations

import re

PLACES = 2  # of a point, 1/72 of an inch
_NOT_SEEN = r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>| xmlns:xlink=\"[^\"]*\""
_SHORTENED = r' (?:d|x|y|width|height|points|style|transform)="[^"]*"'
_DECIMAL = re.compile(r"-?\d+\.\d+")
# What may not stand in an address between the double quotes of an attribute; all else stays as it can be read.
_WRITTEN = str.maketrans({sign: f"%{ord(sign):02X}" for sign in '%#"<>&'})
# What a search of the page for links would stop at.
_LOOKS_LIKE_A_LINK = {"://": "%3A%2F%2F", "url(": "url%28", "href=": "href%3D"}


def compact(svg: str) -> str:
    """Return the same picture with short numbers and names, without comments, metadata and needless groups.

    Parameters
    ----------
    svg : str
        As Matplotlib writes it.

    Examples
    --------
    >>> compact('<svg><g id="patch_1"><path d="M 0.123456 7.000000 L 15.123456 2"/></g></svg>')
    '<svg><path d="M.1235 7L15.12 2"/></svg>'
    """
    svg = re.sub(_NOT_SEEN, "", svg, flags=re.S)
    svg = re.sub(r"\s+", " ", svg).replace("> <", "><").replace("xlink:href", "href").strip()
    svg = re.sub(r' transform="translate\((-?[\d.]+) (-?[\d.]+)\)"(?=/>)', r' x="\1" y="\2"', svg)
    svg = _with_short_names(svg)
    svg = re.sub(_SHORTENED, lambda match: _shorter(match[0]), svg)
    while (fewer := re.sub(r"<g>((?:<(?:use|path)\b[^>]*/>)*)</g>", r"\1", svg)) != svg:
        svg = fewer
    return svg


def data_address(svg: str) -> str:
    """Return an address that holds a picture: as text, a quarter shorter than base64, and with no address in it."""
    if not re.search(r"=\"[^\"]*'", svg):
        svg = svg.replace('"', "'")
    text = svg.translate(_WRITTEN)
    for word, written in _LOOKS_LIKE_A_LINK.items():
        text = text.replace(word, written)
    return "data:image/svg+xml," + text


def _with_short_names(svg: str) -> str:
    """Number the names that something refers to, in the order of their use, and drop the others."""
    used = dict.fromkeys(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    short = {name: f"i{number:x}" for number, name in enumerate(used)}
    svg = re.sub(r' id="([^"]*)"', lambda match: f' id="{short[match[1]]}"' if match[1] in short else "", svg)
    return re.sub(r'(href="|url\()#([^")]+)', lambda match: f"{match[1]}#{short[match[2]]}", svg)


def _shorter(attribute: str) -> str:
    attribute = _DECIMAL.sub(lambda match: _rounded(float(match[0])), attribute)
    attribute = re.sub(r'^ [xy]="0"$', "", attribute)
    if attribute.startswith(' style="'):
        return attribute.replace(": ", ":").replace("; ", ";")
    return re.sub(r" ?([MLQCzZ]) ?", r"\1", attribute) if attribute.startswith(' d="') else attribute


def _rounded(number: float) -> str:
    """Write a coordinate; what is below one may be a scale, which many points are multiplied by."""
    places = PLACES if abs(number) >= 1 else 4 if abs(number) >= 0.1 else 6
    text = f"{number:.{places}f}".rstrip("0").rstrip(".")
    if text == "-0":
        return "0"
    return text[1:] if text.startswith("0.") else f"-{text[2:]}" if text.startswith("-0.") else text
