"""Writes stats.csv: what Palio's statistics must give, computed another way, with SciPy.

Run in this directory, with NumPy and SciPy installed:  python3 generate.py
The tests read only stats.csv; Python is not needed to run them.

Every line: kind, name, then numbers or `-` for a missing one. Fields are separated by `,`.
"""

import numpy as np
from scipy import stats

rng = np.random.default_rng(20)
lines = []


def emit(kind, name, *groups):
    fields = [kind, name]
    for group in groups:
        group = list(np.atleast_1d(group))
        fields.append(" ".join("-" if x is None else repr(float(x)) for x in group))
    lines.append(",".join(fields))


def summary(name, x):
    q1, median, q3 = np.quantile(x, [0.25, 0.5, 0.75])
    mad = stats.median_abs_deviation(x)
    spread = np.ptp(x) / median
    emit("summary", name, x, [x.min(), q1, median, q3, x.max(), x.mean(), mad, spread])


def interval(a, b):
    """The centres that SciPy's exact signed-rank test does not reject, widened, and the medians
    that its binomial test does not reject: the ends of both together."""
    d = np.log(a) - np.log(b)
    n = len(d)
    walsh = np.sort([(d[i] + d[j]) / 2 for i in range(n) for j in range(i, n)])
    point = np.median(walsh)
    if n < 5:
        return np.exp(point), 0.0, np.inf
    # At five differences no centre is rejected at 5 %, so the limits are those at 6.25 %.
    level = 0.05 if n > 5 else 0.0625
    kept = []
    # The test's outcome changes only at Walsh averages: ask once in each gap.
    for left, right in zip(walsh[:-1], walsh[1:]):
        p = stats.wilcoxon(d - (left + right) / 2, method="exact").pvalue
        if p > level:
            kept += [left, right]
    widen = np.sqrt(n / (n - 1))
    lo, hi = (point + (end - point) * widen for end in (min(kept), max(kept)))
    ordered = np.sort(d)
    for left, right in zip(ordered[:-1], ordered[1:]):
        above = int((d > (left + right) / 2).sum())
        if stats.binomtest(above, n).pvalue > level:
            lo, hi = min(lo, left), max(hi, right)
    return tuple(np.exp([point, lo, hi]))


def ratio(name, a, b):
    """`None` marks a block without an invocation; such blocks are dropped."""
    both = [(x, y) for x, y in zip(a, b) if x is not None and y is not None]
    emit("ratio", name, a, b, [*interval(*np.array(both).T), len(both)])


def floor(name, reference, shadow):
    point, lo, hi = interval(shadow, reference)
    emit("floor", name, reference, shadow, [max(hi, 1 / lo, 1.01), max(point, 1 / point, 1.01)])


for n in (1, 2, 3, 10, 11, 40):
    summary(f"lognormal-{n}", 1e6 * rng.lognormal(0, 0.1, n))
summary("ties", np.array([3.0, 3.0, 3.0, 5.0, 5.0, 9.0]))
summary("bimodal", np.concatenate([rng.normal(1e9, 1e6, 9), rng.normal(2e9, 1e6, 6)]))

for n in (1, 3, 4, 5, 6, 7, 8, 12, 15, 16, 30, 40):
    drift = rng.lognormal(0, 0.2, n)
    ratio(
        f"noisy-{n}",
        1.07e6 * drift * rng.lognormal(0, 0.03, n),
        1.00e6 * drift * rng.lognormal(0, 0.03, n),
    )
heavy = 2e3 * np.exp(0.02 * rng.standard_t(2, 15))
ratio("heavy-tails", heavy, 2e3 * np.exp(0.02 * rng.standard_t(2, 15)))
a, b = [list(rng.lognormal(10, 0.05, 15)) for _ in range(2)]
a[3] = a[9] = b[0] = b[9] = None
ratio("missing-blocks", a, b)

for n in (5, 15, 30):
    floor(f"a-a-{n}", *(1e5 * rng.lognormal(0, 0.02, (2, n))))
floor("quiet", *(1e5 * rng.lognormal(0, 0.0005, (2, 15))))

ratios = [list(rng.uniform(1, 4, 4)) for _ in range(8)]
ratios[2][1] = ratios[5][3] = None
common = np.array([r for r in ratios if None not in r])
emit(
    "totals",
    "two-failures",
    [x for race in ratios for x in race],
    stats.gmean(common, axis=0),
    common.mean(axis=0),
)

with open("stats.csv", "w", encoding="ascii") as out:
    out.write("# Written by generate.py; do not edit.\n")
    out.write("\n".join(lines) + "\n")
