"""Compares the interval that Palio uses with those it does not: the tables in docs/methodology.md.

Needs NumPy and SciPy:  python3 rejected_intervals.py
Block log-ratios of two contenders are simulated directly, without samples and without a noise
floor, so that only the intervals differ. Every number is a percentage of RACES races.
"""

import numpy as np
from scipy import stats

RACES, RESAMPLES, LEVEL = 2000, 1000, 0.05
rng = np.random.default_rng(3)


def log_times(machine, blocks):
    noise = 0.03 * rng.standard_normal((RACES, blocks))
    if machine == "8 % slow invocations":
        slow = rng.random((RACES, blocks)) < 0.08
        noise += slow * np.log(rng.uniform(1.3, 3, (RACES, blocks)))
    if machine == "bimodal +10 %":
        noise += (rng.random((RACES, blocks)) < 0.5) * np.log(1.1)
    return noise


def unequal(contender, blocks):
    """Log-ratios of a contender to a reference with 0.5 % noise; the median of both is 0."""
    rng = np.random.default_rng(4)
    quiet, own = 0.005 * rng.standard_normal((2, RACES, blocks))
    if contender == "15 %":
        own *= 30
    if contender == "skewed 15 %":
        own = 0.15 * (rng.exponential(size=own.shape) - np.log(2))
    if contender == "×1.5 in 30 %":
        own += (rng.random(own.shape) < 0.3) * np.log(1.5)
    return own - quiet


def student(d):
    n = d.shape[1]
    half = d.std(1, ddof=1) / np.sqrt(n) * stats.t.ppf(1 - LEVEL / 2, n - 1)
    return d.mean(1) - half, d.mean(1) + half


def bootstrap(d, tail, trim):
    n = d.shape[1]
    cut = int(trim * n)
    # Sorted indices into sorted data are a sorted resample.
    picks = np.sort(rng.integers(0, n, (RESAMPLES, n)), axis=1)[:, cut : n - cut]
    return np.array([np.quantile(x[picks].mean(1), [tail, 1 - tail]) for x in np.sort(d, 1)]).T


def percentile(d):
    return bootstrap(d, LEVEL / 2, 0)


def expanded(d, trim=0):
    n = d.shape[1]
    tail = stats.norm.cdf(-np.sqrt(n / (n - 1)) * stats.t.ppf(1 - LEVEL / 2, n - 1))
    return bootstrap(d, tail, trim)


def signed_rank(d, widen=True):
    n = d.shape[1]
    i, j = np.triu_indices(n)
    walsh = np.sort((d[:, i] + d[:, j]) / 2, axis=1)
    subsets = np.zeros(len(i) + 1)
    subsets[0] = 1
    for k in range(1, n + 1):
        subsets[k:] += subsets[:-k].copy()
    cut = max(1, np.searchsorted(np.cumsum(subsets) / 2**n, LEVEL / 2, side="right"))
    point = np.median(walsh, axis=1)
    factor = np.sqrt(n / (n - 1)) if widen else 1
    lo, hi = walsh[:, cut - 1], walsh[:, -cut]
    return point + (lo - point) * factor, point + (hi - point) * factor


def sign(d):
    ordered, n = np.sort(d, axis=1), d.shape[1]
    heads = stats.binom.cdf(np.arange(n), n, 0.5)
    cut = max(1, np.searchsorted(heads, LEVEL / 2, side="right"))
    return ordered[:, cut - 1], ordered[:, -cut]


def both(d):
    (a, b), (c, e) = signed_rank(d), sign(d)
    return np.minimum(a, c), np.maximum(b, e)


METHODS = {
    "percentile bootstrap, mean": percentile,
    "expanded percentile bootstrap, mean": expanded,
    "expanded percentile bootstrap, 20 % trimmed mean": lambda d: expanded(d, 0.2),
    "Student's t": student,
    "signed-rank": lambda d: signed_rank(d, widen=False),
    "signed-rank, widened": signed_rank,
    "sign": sign,
    "signed-rank, widened, and sign: the outer limits (used)": both,
}

MACHINES = ("normal 3 %", "8 % slow invocations", "bimodal +10 %")
BLOCKS = (5, 15, 30)

rows = {name: [] for name in METHODS}
for machine in MACHINES:
    for blocks in BLOCKS:
        d = log_times(machine, blocks) - log_times(machine, blocks)
        for name, method in METHODS.items():
            (lo, hi), (lo10, _) = method(d), method(d + np.log(1.1))
            misses, found = np.mean((lo > 0) | (hi < 0)), np.mean(lo10 > 0)
            rows[name].append(f"{100 * misses:.1f} / {100 * found:.0f}")
print("| interval |", " | ".join(f"{m}, {b}" for m in MACHINES for b in BLOCKS), "|")
print("|---|" + "---:|" * len(MACHINES) * len(BLOCKS))
for name, cells in rows.items():
    print(f"| {name} |", " | ".join(cells), "|")

UNEQUAL = ("15 %", "skewed 15 %", "×1.5 in 30 %")
COUNTS = (5, 10, 15, 30)
print("\n| interval |", " | ".join(f"{c}, {b}" for c in UNEQUAL for b in COUNTS), "|")
print("|---|" + "---:|" * len(UNEQUAL) * len(COUNTS))
for name in ("Student's t", "signed-rank, widened", "sign", *[n for n in METHODS if "(used)" in n]):
    cells = []
    for contender in UNEQUAL:
        for blocks in COUNTS:
            lo, hi = METHODS[name](unequal(contender, blocks))
            # Half a per cent is within what the medians of both are known to.
            cells.append(f"{100 * np.mean((lo > 0.005) | (hi < -0.005)):.1f}")
    print(f"| {name} |", " | ".join(cells), "|")
