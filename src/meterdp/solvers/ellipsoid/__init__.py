"""The smallest-trace ellipsoid around points: the semidefinite program (23) of Liu et al. and its solvers."""
