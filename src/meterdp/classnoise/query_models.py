"""What counts as randomness of a query, and what each choice means to a reader."""

from __future__ import annotations

from typing import Literal, get_args

QueryModel = Literal["deterministic", "stochastic", "published"]

QUERY_MODELS: tuple[QueryModel, ...] = get_args(QueryModel)

PREDICTABLE = "No protection against anyone who knows or can predict this household's readings."
MODEL_WORDS = {
    "deterministic": "only the added noise counts; the adversary may know every household's forecast, and so the law "
    "of every household's noise, which is computed from them",
    "stochastic": f"the spread of the forecast over all pasts counts as well as the noise. {PREDICTABLE}",
    "published": "law (57) of the future counts as if it were that of the forecast, which it is not: no guarantee. "
    + PREDICTABLE,
}
