"""Tables of the reproduction of Park et al.: splits and folds, one table per figure, numbers beside them."""

from __future__ import annotations

from meterdp.core.tables import COUNT, FLAG, INT, REAL, TEXT, VECTOR, Column
from meterdp_papers.common.tables import READING, TRIALS, table

_FIGURE = Column("figure", TEXT, "", "figure of the paper, 'fig2' or 'fig3'")
_EPSILON = Column("epsilon", REAL, "1", "privacy parameter of the whole run")
_LINES = (
    Column("line", TEXT, "", "'em' without noise, scheme and composition such as 'ggg_zcdp', or 'sound'"),
    Column("scheme", TEXT, "", "'GGG' or 'LLG'; null without noise and for 'sound'", nullable=True),
    Column("composition", TEXT, "", "name of the accountant; null without noise and for 'sound'", nullable=True),
)
_STEP_EPSILON = Column(
    "step_epsilon", REAL, "1", "eps_i of one answer; null without noise and for 'sound'", nullable=True
)
_LEFT_OUT = Column(
    "deltas_left_out", FLAG, "", "whether the delta_i of all answers exceed delta and were left out of it (defect P4)"
)
_PLACE = (
    Column("longitude", REAL, "degree", "east of Greenwich; of a released mean perhaps nowhere on the globe"),
    Column("latitude", REAL, "degree", "north of the equator; of a released mean perhaps nowhere on the globe"),
)
_CAPTION = (
    Column("caption", TEXT, "", "reading of the caption of Fig. 1"),
    Column("times", INT, "1", "how many times as many people as the paper simulates"),
)


def _se(name: str, unit: str) -> Column:
    return Column(f"{name}_se", REAL, unit, "its standard error; null for a single trial", nullable=True)


PARK_LIKELIHOODS = table(
    "park_likelihoods",
    "Every run behind Figs 2 and 3 of Park et al.: one split, one reading, one line, one epsilon.",
    _FIGURE,
    READING,
    Column("split", COUNT, "1", "number of the split, from 0"),
    *_LINES,
    _EPSILON,
    _STEP_EPSILON,
    _LEFT_OUT,
    Column("log_likelihood", REAL, "nats", "mean log-density of the test records, in the unit ball"),
    source=(),
)

PARK_CURVE = table(
    "park_curve",
    "Test log-likelihood per record against epsilon: Figs 2 and 3 of Park et al.",
    _FIGURE,
    READING,
    *_LINES,
    _EPSILON,
    _STEP_EPSILON,
    _LEFT_OUT,
    Column("log_likelihood_mean", REAL, "nats", "per test record, mean over splits"),
    _se("log_likelihood", "nats"),
    Column("excess_mean", REAL, "nats", "log-likelihood less that of 'ggg_zcdp' in the same split, mean"),
    _se("excess", "nats"),
    Column("shortfall_mean", REAL, "nats", "log-likelihood without noise in the same split less this one, mean"),
    _se("shortfall", "nats"),
    TRIALS,
)

PARK_OURS = table(
    "park_ours",
    "Our sound release against zCDP GGG in the splits of Figs 2 and 3 of Park et al., in each reading of theirs.",
    _FIGURE,
    READING,
    _EPSILON,
    Column("ours_mean", REAL, "nats", "log-likelihood per test record of 'sound', mean over splits"),
    Column("ggg_mean", REAL, "nats", "that of 'ggg_zcdp' at the same epsilon"),
    Column("ggg_shortfall_mean", REAL, "nats", "what 'ggg_zcdp' is below EM without noise"),
    Column("difference_mean", REAL, "nats", "ours less theirs in the same split, mean"),
    _se("difference", "nats"),
    Column("larger_epsilon", REAL, "1", "twice the epsilon, or the next larger one that was run", nullable=True),
    Column("larger_difference_mean", REAL, "nats", "ours less theirs at the larger epsilon, mean", nullable=True),
    _se("larger_difference", "nats"),
    TRIALS,
)

PARK_MAP = table(
    "park_map",
    "Invented people by marital status, with means and covariances of EM and of one release: Fig. 1 of Park et al.",
    *_CAPTION,
    Column("kind", TEXT, "", "'person', 'lone person', 'em' or 'released'"),
    Column("epsilon", REAL, "1", "privacy parameter; null unless released", nullable=True),
    Column("status", TEXT, "", "marital status, the class"),
    *_PLACE,
    Column("covariance", VECTOR, "degree^2", "2 x 2, row by row; null for people", nullable=True),
)

PARK_DISTANCES = table(
    "park_distances",
    "How far means are from the lone married person and from EM, over releases (Fig. 1 of Park et al.).",
    *_CAPTION,
    _EPSILON,
    Column("status", TEXT, "", "marital status, the class"),
    Column("person_count", COUNT, "persons", "invented people in the class"),
    Column("em_to_lone_km", REAL, "km", "from EM's mean to the lone married person"),
    Column("released_to_lone_median_km", REAL, "km", "from the released mean to that person, median"),
    Column("released_to_em_median_km", REAL, "km", "from the released mean to EM's, median"),
    Column("released_to_em_mean_km", REAL, "km", "from the released mean to EM's, mean"),
    Column("released_to_em_se_km", REAL, "km", "its standard error; null for a single trial", nullable=True),
    TRIALS,
)

PARK_FOLDS = table(
    "park_folds",
    "Every clustering behind Fig. 4 of Park et al.: one fold, one reading, one method.",
    Column("fold", COUNT, "1", "number of the fold, from 0"),
    READING,
    Column("method", TEXT, "", "'kmeans' without noise, 'dplloyd_linear', 'dplloyd_zcdp' or the paper's 'dp_kmeans'"),
    _EPSILON,
    Column("step_epsilon", REAL, "1", "of one answer; null without noise", nullable=True),
    Column("nicv", REAL, "1", "normalised intra-cluster variance of test records, in the unit ball"),
    Column("longitude", VECTOR, "degree", "of the centres"),
    Column("latitude", VECTOR, "degree", "of the centres"),
    source=(),
)

PARK_NICV = table(
    "park_nicv",
    "Normalised intra-cluster variance of each method under each reading of Fig. 4 of Park et al.",
    READING,
    Column("method", TEXT, "", "as in park_folds"),
    _EPSILON,
    Column("step_epsilon", REAL, "1", "of one answer; null without noise", nullable=True),
    Column("nicv_mean", REAL, "1", "mean squared distance to the nearest centre, in the unit ball; over folds"),
    _se("nicv", "1"),
    Column("nicv_median", REAL, "1", "median over folds"),
    Column("excess_mean", REAL, "1", "NICV less that of 'dp_kmeans' in the same fold, mean"),
    _se("excess", "1"),
    TRIALS,
)

PARK_CLUSTERS = table(
    "park_clusters",
    "Some records and the centres of the first fold: Fig. 4 of Park et al.",
    Column("kind", TEXT, "", "'record' or 'centre'"),
    READING,
    Column("method", TEXT, "", "as in park_folds; null for records", nullable=True),
    Column("nicv_mean", REAL, "1", "of the method, over folds; null for records", nullable=True),
    _se("nicv", "1"),
    *_PLACE,
)

_PICTURES = Column("pictures", TEXT, "", "how pictures were prepared")
_NOISE = Column("noise", TEXT, "", "'none', 'stated', or 'variance for deviation' (defect P3)")

PARK_FACES = table(
    "park_faces",
    "Columns of factor loadings as pictures: Fig. 5 of Park et al., by the noise it states and by that of its code.",
    _PICTURES,
    Column("sensitivity", TEXT, "", "as in park_face_numbers; null without noise", nullable=True),
    _NOISE,
    Column("epsilon", REAL, "1", "privacy parameter; null without noise", nullable=True),
    Column("column", INT, "1", "after rotation to orthogonal columns, from the longest to the shortest"),
    Column("loading", VECTOR, "1", "one number per pixel, row by row"),
)

PARK_FACE_NUMBERS = table(
    "park_face_numbers",
    "Noise of Fig. 5 of Park et al. beside the second moment it is added to, and what is left of EM's loadings.",
    _PICTURES,
    Column("sensitivity", TEXT, "", "change of the second moment that the noise is scaled to"),
    _NOISE,
    _EPSILON,
    Column("noise_std", REAL, "1", "standard deviation of an entry of the noise"),
    Column("noise_spectral_norm", REAL, "1", "largest absolute eigenvalue of the noise"),
    Column("top_eigenvalue", REAL, "1", "largest eigenvalue of the second moment without noise"),
    Column("captured_share", REAL, "1", "mean squared cosine of EM's loadings with the span of the private ones"),
)
