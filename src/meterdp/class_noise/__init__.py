"""Class-based noise for forecasts: neighbourhoods, noise designs and privacy curves.

Section IV of Ramakrishna et al., "Differential Privacy for Class-based Data". The designs here belong to the
``published`` family: they reproduce the paper and are never released.
"""
