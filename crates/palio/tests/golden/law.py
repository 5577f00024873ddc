"""The law of scalability of tests/stats_law.rs, by NumPy and by SciPy: python3 law.py"""

import numpy as np
from scipy.optimize import least_squares

N = np.array([1, 2, 3, 4, 6, 8, 12, 16], dtype=float)
T = np.array([981.0, 517.5, 366.0, 287.1, 214.9, 180.2, 156.3, 149.8])

columns = np.stack([np.ones_like(N), N - 1, N * (N - 1)], axis=1)
(one, shared, pairs), *_ = np.linalg.lstsq(columns / (N * T)[:, None], np.ones_like(N), rcond=None)
print("numpy", repr(one), repr(shared / one), repr(pairs / one))


def errors(parameters):
    one, sigma, kappa = parameters
    return one * (1 + sigma * (N - 1) + kappa * N * (N - 1)) / (N * T) - 1


found = least_squares(errors, [900.0, 0.1, 0.01], xtol=1e-15, ftol=1e-15, gtol=1e-15, x_scale=[1e3, 1e-2, 1e-3])
print("scipy", *map(repr, found.x))
