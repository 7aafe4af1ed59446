"""Tables the page of Park et al. prints: log-likelihoods, clusterings under every reading, and the noise on faces."""

from __future__ import annotations

import numpy as np

from meterdp.figures import numbers
from meterdp.figures.report.grid import Grid
from meterdp.figures.style import load
from meterdp_papers.common.printed import Printed
from meterdp_papers.park.labels import LINES, METHODS
from meterdp_papers.park.readings import SHOWN
from meterdp_papers.park.tables import PARK_CURVE, PARK_FACE_NUMBERS, PARK_NICV, PARK_OURS


def clusterings(path) -> Grid:
    """Return NICV of every method under every reading."""
    table, rows = load(path, PARK_NICV), []
    methods = list(dict.fromkeys(table["method"]))
    for reading, at in table.groupby("reading", sort=False):
        value = at.set_index("method")
        cells = [f"{value.loc[m, 'nicv_mean']:.4f} ± {_error(value.loc[m, 'nicv_se'])}" for m in methods]
        rows.append([reading, numbers.plain(float(f"{at['epsilon'].iloc[0]:.3g}")), *cells])
    header = ("reading", "ε", *(METHODS[m] for m in methods))
    return Grid("Fig. 4: NICV of test records, mean over folds and its standard error", header, rows)


def _error(value: float) -> str:
    return numbers.significant(value, 2)


def faces(path) -> Grid:
    """Return the noise of Fig. 5 beside what it is added to."""
    rows = [
        [
            row.pictures,
            row.sensitivity,
            row.noise,
            numbers.plain(row.epsilon),
            f"{row.noise_std:.4f}",
            f"{row.noise_spectral_norm:.2f}",
            f"{row.top_eigenvalue:.3f}",
            f"{row.captured_share:.3f}",
        ]
        for row in load(path, PARK_FACE_NUMBERS).itertuples()
    ]
    header = (
        "pictures",
        "sensitivity",
        "noise",
        "ε",
        "standard deviation",
        "spectral norm",
        "top eigenvalue without noise",
        "mean squared cosine with EM's loadings",
    )
    return Grid("Fig. 5: noise beside the second moment of the faces", header, rows, words=3)


def likelihoods(path) -> Grid:
    """Return the test log-likelihood of every line at every epsilon, under the reading that is drawn."""
    table = load(path, PARK_CURVE)
    table = table[table["reading"] == SHOWN.name]
    epsilons = sorted(table["epsilon"].unique())
    rows = []
    for line, at in table.groupby("line", sort=False):
        value = at.set_index("epsilon")
        cells = [
            f"{numbers.significant(value.loc[e, 'log_likelihood_mean'], 4)} ± "
            f"{_error(value.loc[e, 'log_likelihood_se'])}"
            for e in epsilons
        ]
        rows.append([LINES[line], *cells])
    first = table.iloc[0]
    figure = first["figure"].replace("fig", "Fig. ")
    caption = f"{figure}: test log-likelihood, nats per record, mean over splits and its standard error; {SHOWN.name}"
    return Grid(caption, ("ε", *(numbers.plain(e) for e in epsilons)), rows)


def ours(path) -> Grid:
    """Return our release against zCDP GGG, under every reading of theirs."""
    table = load(path, PARK_OURS)
    rows = [
        [
            row.reading,
            numbers.plain(row.epsilon),
            numbers.significant(row.ours_mean, 4),
            numbers.significant(row.ggg_mean, 4),
            f"{numbers.significant(row.difference_mean, 3)} ± {_error(row.difference_se)}",
            ""
            if np.isnan(row.larger_epsilon)
            else f"{numbers.significant(row.larger_difference_mean, 3)} ± {_error(row.larger_difference_se)} "
            f"(ε = {numbers.plain(row.larger_epsilon)})",
            str(row.trials),
        ]
        for row in table.itertuples()
    ]
    figure = table["figure"].iloc[0].replace("fig", "Fig. ")
    header = (
        "reading of the paper",
        "ε",
        "sound release (ours)",
        "GGG, zCDP",
        "ours less theirs",
        "ours less theirs at twice ε or more",
        "splits",
    )
    return Grid(f"{figure}: our release against theirs, nats per test record; paired over splits", header, rows)


PRINTED = (
    Printed("fig2", PARK_CURVE, likelihoods),
    Printed("fig3", PARK_CURVE, likelihoods),
    Printed("fig2_ours", PARK_OURS, ours),
    Printed("fig3_ours", PARK_OURS, ours),
    Printed("nicv", PARK_NICV, clusterings),
    Printed("face_numbers", PARK_FACE_NUMBERS, faces),
)
