"""What counts as randomness of a query, and what each choice means to a reader."""

from __future__ import annotations

from typing import Literal, get_args

QueryModel = Literal["deterministic", "stochastic", "published"]

QUERY_MODELS: tuple[QueryModel, ...] = get_args(QueryModel)

# What counts as random, in a line.
RANDOMNESS: dict[QueryModel, str] = {
    "deterministic": "only the added noise counts",
    "stochastic": "the spread of the forecast over all pasts counts as well as the noise",
    "published": "distribution (57) of the future counts, which is not that of the forecast: no guarantee",
}
PREDICTABLE = "No protection against anyone who knows or can predict this household's readings."
# The same with what it means for the household.
MODEL_WORDS: dict[QueryModel, str] = {
    "deterministic": f"{RANDOMNESS['deterministic']}; the adversary may know every household's forecast, and so the "
    "distribution of every household's noise, which is computed from them",
    "stochastic": f"{RANDOMNESS['stochastic']}. {PREDICTABLE}",
    "published": f"{RANDOMNESS['published']}. {PREDICTABLE}",
}
