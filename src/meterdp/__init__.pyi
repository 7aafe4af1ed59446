from meterdp.api.arma import fit_arma as fit_arma
from meterdp.api.mixture import PrivateGaussianMixture as PrivateGaussianMixture
from meterdp.api.privacy import epsilon_for as epsilon_for
from meterdp.api.privacy import mu_for as mu_for
from meterdp.api.privacy import privacy_curve as privacy_curve

__version__: str
__all__ = ["PrivateGaussianMixture", "__version__", "epsilon_for", "fit_arma", "mu_for", "privacy_curve"]
