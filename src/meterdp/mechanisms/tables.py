"""Tables the ``mechanisms`` room writes: one schema for every variant, and what each costs."""

from __future__ import annotations

from meterdp.core.tables import COUNT, INT, REAL, TEXT, VECTOR, Column, Table

_NAME = Column("mechanism", TEXT, "", "name in the registry")
_FAMILY = Column("family", TEXT, "", "'published', 'exact' or 'sound'")
_EPSILON = Column("epsilon", REAL, "1", "privacy parameter the variant was calibrated to")

VARIANT = Table(
    "variant",
    "study",
    "One draw of one mechanism per epsilon: a perturbed Gaussian mixture.",
    (
        _NAME,
        _FAMILY,
        _EPSILON,
        Column("delta", REAL, "1", "privacy parameter"),
        Column("component", INT, "1", "class of the mixture"),
        Column("weight", REAL, "1", "mixture weight"),
        Column("mean_log_kwh", VECTOR, "log kWh", "mean, d entries"),
        Column("covariance", VECTOR, "(log kWh)^2", "covariance, d x d entries by rows"),
    ),
)

COST = Table(
    "cost",
    "study",
    "What a mechanism costs at one epsilon: KL divergence to the fit over many draws.",
    (
        _NAME,
        _FAMILY,
        _EPSILON,
        Column("delta", REAL, "1", "privacy parameter"),
        Column("unit", TEXT, "", "unit of privacy: what one neighbour changes"),
        Column("adjacency", TEXT, "", "'label_flip', 'replace_one' or 'add_remove'"),
        Column("draw_count", COUNT, "1", "draws averaged over"),
        Column(
            "kl_reference",
            TEXT,
            "",
            "'fit', or 'own_classes': the fit under the draw's own responsibilities, regularised",
        ),
        Column("kl_mean", REAL, "nats", "mean of KL(released || reference) of the joint (x, y)"),
        Column("kl_se", REAL, "nats", "standard error of kl_mean"),
        Column("kl_q05", REAL, "nats", "5 % quantile over draws"),
        Column("kl_q25", REAL, "nats", "quartile over draws"),
        Column("kl_median", REAL, "nats", "median over draws"),
        Column("kl_q75", REAL, "nats", "quartile over draws"),
        Column("kl_q95", REAL, "nats", "95 % quantile over draws"),
        Column("kl_small_classes_mean", REAL, "nats", "part of kl_mean from classes below 5 d households"),
        Column(
            "loglik_gap_mean",
            REAL,
            "nats",
            "log-likelihood per household lost against the fit, on the records of the fit",
        ),
        Column("loglik_gap_se", REAL, "nats", "standard error of loglik_gap_mean"),
        Column("classes", COUNT, "1", "classes of the released mixture"),
        Column(
            "heldout_loglik_mean",
            REAL,
            "nats",
            "log-likelihood per household the mechanism has not seen, five folds; NaN where households are too few",
        ),
        Column("heldout_gap_mean", REAL, "nats", "what the mixture of the study, made from the same folds, has more"),
        Column("heldout_gap_se", REAL, "nats", "standard error of heldout_gap_mean over folds"),
        Column(
            "heldout_gap_same_k_mean", REAL, "nats", "the same against a mixture of as many classes as the release"
        ),
        Column("projected_share", REAL, "1", "share of draws in which a covariance or weight had to be projected"),
    ),
)
