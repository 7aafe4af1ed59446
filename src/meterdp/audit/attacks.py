"""Attacks: scores of what an adversary sees, the higher the more it looks like a run on D than on its neighbour.

Where the distribution of what is seen is known the score is the likelihood ratio, which by Neyman and Pearson no
attack beats. Otherwise it is learned from runs that are used for nothing else.
"""

from __future__ import annotations

import numpy as np

# What a learned attack sees is clipped to so many standard deviations: a release may hold a very large number.
_LARGEST = 8.0


def learned_scores(train_d: np.ndarray, train_other: np.ndarray, seen: list[np.ndarray]) -> dict[str, list]:
    """Return the scores of attacks trained on runs on D and D', per attack one (n,) float64 for each of ``seen``.

    Logistic regression on the numbers and their squares, and gradient-boosted trees.

    Parameters
    ----------
    train_d, train_other : (n, f) float64
    seen : list of (m, f) float64
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    x = np.concatenate([train_d, train_other])
    label = np.repeat([1, 0], [len(train_d), len(train_other)])
    mean, std = x.mean(axis=0), x.std(axis=0) + 1e-12

    def prepared(values: np.ndarray) -> np.ndarray:
        return np.clip((values - mean) / std, -_LARGEST, _LARGEST)

    def with_squares(values: np.ndarray) -> np.ndarray:
        return np.concatenate([prepared(values), prepared(values) ** 2], axis=1)

    regression = LogisticRegression(C=0.1, max_iter=500).fit(with_squares(x), label)
    trees = HistGradientBoostingClassifier(max_iter=60, max_depth=3, early_stopping=False, random_state=0)
    trees.fit(prepared(x), label)
    return {
        "logistic regression": [regression.decision_function(with_squares(v)) for v in seen],
        "boosted trees": [trees.decision_function(prepared(v)) for v in seen],
    }
