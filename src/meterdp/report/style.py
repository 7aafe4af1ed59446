"""The one look of all figures: fonts, colours that mean the same thing everywhere, and byte-identical SVG.

Colours are those of Okabe and Ito (2008), which readers with any common colour vision deficiency can tell apart; each
mechanism, design and forecast also has its own marker. Saving is atomic and writes no date, so a rerun on the same
tables gives the same bytes.

The workflow reads the registry of figures at every start, so matplotlib is imported where something is drawn and the
drawing functions take what they need of it from here.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import numpy as np

from meterdp.core.parquet import atomic_path, read_table
from meterdp.core.tables import Table
from meterdp.errors import InputError
from meterdp.pages import numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#767676"
WINE = "#882255"  # of Tol's scheme "muted": the others are taken, except a yellow that is invisible on white
LIGHT_GREY = "#C8C8C8"
WIDTH_IN = 8.6

_RC = {
    "backend": "agg",
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,  # not as the user's matplotlibrc says
    "figure.dpi": 72,  # as SVG is saved, so that text is measured at the size at which it is drawn
    "svg.fonttype": "path",
    "svg.hashsalt": "meterdp",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "figure.titlesize": 12,
    "figure.titleweight": "bold",
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "errorbar.capsize": 2.5,
    "axes.unicode_minus": True,
}


@dataclass(frozen=True)
class Look:
    """How one mechanism, design or forecast is drawn and called."""

    label: str
    colour: str
    marker: str


# In the order of legends and tables.
_LOOKS = {
    "iid_laplace": Look("i.i.d. Laplace", ORANGE, "s"),
    "iid_gaussian": Look("i.i.d. Gaussian", PURPLE, "D"),
    "iid_gaussian_l1": Look("i.i.d. Gaussian, l1 bound", VERMILION, "d"),
    "coloured_gaussian": Look("coloured Gaussian", BLACK, "v"),
    "coloured_gaussian_l1": Look("coloured Gaussian, l1 bound", GREY, "8"),
    "kl_published": Look("KL-minimising, published", BLUE, "o"),
    "kl_exact": Look("KL-minimising, exact", SKY, "P"),
    "dpem_zcdp": Look("DP-EM under zCDP", WINE, "X"),
    "sound": Look("proven release", GREEN, "^"),
    "sound_label_flip": Look("proven release, labels only", GREEN, "*"),
    "none": Look("no noise", GREY, "x"),
    "white": Look("white noise", PURPLE, "s"),
    "published": Look("published design", BLUE, "o"),
    "joint": Look("joint design", GREEN, "^"),
    "transport": Look("transport design", SKY, "D"),
    "group_mean": Look("mean of the group", BLACK, "v"),
    "arma": Look("ARMA forecast", ORANGE, "o"),
}
# For names that are not listed: colours of Tol's "muted" scheme (2021), which no listed name has.
_SPARE_COLOURS = ("#332288", "#117733", "#999933", "#44AA99", "#AA4499")
_SPARE_MARKERS = ("h", "H", "p", "<", ">")


def look(name: str) -> Look:
    """Return how ``name`` is drawn: a fixed choice, which for an unlisted name depends on the name alone."""
    if name in _LOOKS:
        return _LOOKS[name]
    code = zlib.crc32(name.encode())
    marker = _SPARE_MARKERS[code // len(_SPARE_COLOURS) % len(_SPARE_MARKERS)]
    return Look(name.replace("_", " "), _SPARE_COLOURS[code % len(_SPARE_COLOURS)], marker)


def in_order(names: Iterable[str]) -> list[str]:
    """Return the distinct ``names`` in the order every legend and table uses."""
    known = list(_LOOKS)
    return sorted(set(names), key=lambda n: (known.index(n) if n in known else len(known), n))


def load(path, table: Table, may_be_empty: bool = False) -> pd.DataFrame:
    """Read an artefact of a declared table; one without rows is refused unless it may be empty."""
    data = read_table(path, table).to_pandas()
    if data.empty and not may_be_empty:
        raise InputError("has no rows to draw", file=path, hint="check the stage that writes it")
    return data


@contextmanager
def canvas(output, title: str, height_in: float, width_in: float = WIDTH_IN) -> Iterator[Figure]:
    """Yield an empty figure in the common style and write it to ``output`` as SVG when the block ends.

    The file is replaced only when the figure is complete.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_RC):
        figure = Figure(figsize=(width_in, height_in), layout="constrained")
        FigureCanvasSVG(figure)
        figure.suptitle(title, x=0.01, ha="left")
        yield figure
        # Saving would draw everything once more only to lay it out.
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine(None)
        with atomic_path(output) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None, "Creator": "meterdp", "Title": title})
            _add_values(temporary, figure)


def panels(figure: Figure, count: int, columns: int, **sharing) -> list[Axes]:
    """Return ``count`` axes in reading order on a grid with ``columns`` columns."""
    rows = -(-count // columns)
    grid = figure.subplots(rows, columns, squeeze=False, **sharing)
    for axes in grid.ravel()[count:]:
        axes.set_visible(False)
    if sharing.get("sharex") is True:  # the last panel of every column keeps its tick labels
        for axes in grid.ravel()[max(count - columns, 0) : count]:
            axes.tick_params(labelbottom=True)
    return list(grid.ravel()[:count])


def legend_below(figure: Figure, handles, labels, columns: int = 4) -> None:
    """Put one legend under all panels, where it covers no data.

    The panels and their common axis labels belong in a subfigure of ``figure``; matplotlib would put the legend
    over a common label of the same figure.
    """
    figure.legend(handles, labels, loc="outside lower center", ncols=min(columns, max(len(labels), 1)))


def line_key(**style) -> Line2D:
    """Return a line or marker for a legend; without a style one that takes room and shows nothing."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **(style or {"linestyle": ""}))


def area_key(**style) -> Patch:
    """Return a filled area for a legend."""
    from matplotlib.patches import Patch

    return Patch(**style)


def plain_log_ticks(axis, ticks: Iterable[float]) -> None:
    """Label a logarithmic axis at ``ticks`` with plain numbers and nowhere else."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: numbers.plain(value)))


def one_three_ticks(low: float, high: float) -> list[float]:
    """Return the numbers 1, 3, 10, 30, ... (any power of ten) between ``low`` and ``high``, at least one."""
    powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    ticks = np.sort(np.concatenate([10.0**powers, 3 * 10.0**powers]))
    inside = ticks[(ticks >= low) & (ticks <= high)]
    return (inside if inside.size else ticks[:1]).tolist()


# --- values under the pointer ---------------------------------------------------------------------------------------

_POINTER_PT = 7.0
# Of figures being drawn: axes, ends of x and of y (None: from bottom to top) and text of every value.
_VALUES: dict[Figure, list[tuple]] = {}
_BOX = ("x", "y", "width", "height")


def show_points(axes: Axes, x: Iterable, y: Iterable, texts: Iterable[str]) -> None:
    """Show a text under the pointer near each point, where the SVG stands in a page."""
    _values_of(axes).extend((axes, (a, a), (b, b), text) for a, b, text in zip(x, y, texts, strict=True))


def show_strips(axes: Axes, edges: Iterable, texts: Iterable[str]) -> None:
    """Show a text under the pointer in each strip between neighbouring edges, over the whole height of the axes."""
    strips = zip(pairwise(edges), texts, strict=True)
    _values_of(axes).extend((axes, ends, None, text) for ends, text in strips)


def _values_of(axes: Axes) -> list:
    return _VALUES.setdefault(axes.get_figure(root=True), [])


def _add_values(path, figure: Figure) -> None:
    """Lay invisible rectangles with titles over a saved SVG."""
    height, drawn = figure.bbox.height, []
    for axes, x, y, text in _VALUES.pop(figure, ()):
        bottom, top = axes.get_ylim() if y is None else y
        (left, low), (right, high) = axes.transData.transform([(x[0], bottom), (x[1], top)])
        margin = _POINTER_PT if y is not None else 0.0
        (left, right), (low, high) = sorted((left, right)), sorted((low, high))
        place = (left - margin, height - high - margin, right - left + 2 * margin, high - low + 2 * margin)
        if np.isfinite(place).all():
            box = " ".join(f'{name}="{value:.2f}"' for name, value in zip(_BOX, place, strict=True))
            drawn.append(f"<rect {box}><title>{escape(text)}</title></rect>")
    if drawn:
        svg = path.read_text(encoding="utf-8")
        values = f'<g class="values" fill="none" pointer-events="all">{"".join(drawn)}</g>'
        path.write_text(svg.replace("</svg>", f"{values}</svg>"), encoding="utf-8")
