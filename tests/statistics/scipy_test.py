#!/usr/bin/env python3
"""Are the statistics of experiments/analysis/statistics.h and plots/claims.py those of scipy, on 1,000 seeded data sets with ties?

scipy_test.py ANSWER... -- [unittest args]: ANSWER is the program answer_statistics, perhaps behind its emulator. Where scipy
refuses an exact test because of ties or zeros, every sign or every assignment is counted here.
"""
import itertools
import subprocess
import sys
import unittest
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "plots"))
import claims  # noqa: E402  (the path must be set first)

try:
    from scipy import stats
except ImportError:
    stats = None

DATA_SETS = 1000
EXACT = 50  # Values up to which experiments/analysis/statistics.h counts.
COUNTED = 12  # Pairs whose signs are all counted here.
ANSWER = []  # Given on the command line.


def ask(questions):
    """(name, values[, values]) each; a list of numbers each."""
    lines = [" ".join([name, *map(repr, map(float, a)), "|", *map(repr, map(float, b))]) for name, a, b in questions]
    result = subprocess.run(ANSWER, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return [[float(word) for word in line.split()] for line in result.stdout.splitlines()]


def data_sets(most=30, seed=1):
    """Of whole numbers, so that values tie and are zero; some are all equal, some continuous."""
    random = np.random.default_rng(seed)
    for number in range(DATA_SETS):
        n = int(random.integers(2, most + 1))
        if number % 10 == 0:
            yield random.standard_normal(n)
        elif number % 50 == 1:
            yield np.full(n, random.integers(0, 2))
        else:
            yield random.integers(-8, 9, n).astype(float) + random.integers(0, 3)


def signed_rank_by_counting(values):
    """Pratt: zeros are ranked and dropped; every sign of the others."""
    ranks = stats.rankdata(np.abs(values))[values != 0]
    signs = np.array(list(itertools.product((0, 1), repeat=len(ranks))))
    sums, mean = signs @ ranks, ranks.sum() / 2
    return np.mean(np.abs(sums - mean) >= abs(ranks[values[values != 0] > 0].sum() - mean) - 1e-9)


def signed_rank_by_permutation(values):
    """The same through scipy's own permutation test, which flips the signs of paired samples."""
    ranks = np.sign(values) * stats.rankdata(np.abs(values))
    test = stats.permutation_test((ranks, np.zeros(len(ranks))), lambda a, b: np.sum(a - b), permutation_type="samples",
                                  n_resamples=np.inf, alternative="two-sided")
    return test.pvalue


@unittest.skipIf(stats is None, "python3-scipy is not installed (experiments/setup/packages.txt)")
class Scipy(unittest.TestCase):
    def compare(self, questions, expected, first=0):
        """Our answers from their number `first` on."""
        answers = ask(questions)
        self.assertEqual(len(answers), len(questions))
        self.assertGreaterEqual(len(questions), 50)
        for question, ours, theirs in zip(questions, answers, expected):
            np.testing.assert_allclose(ours[first:first + len(theirs)], theirs, rtol=1e-9, atol=1e-9, err_msg=str(question))

    def test_signed_rank_counts_every_sign(self):
        sets = [values for values in data_sets() if np.count_nonzero(values) <= COUNTED and np.any(values)]
        self.compare([("signed_rank", values, []) for values in sets], [[signed_rank_by_counting(values)] for values in sets])

    def test_signed_rank_is_scipys_permutation_test(self):
        sets = [values for values in data_sets(most=8) if np.any(values)][:60]
        self.compare([("signed_rank", values, []) for values in sets], [[signed_rank_by_permutation(values)] for values in sets])

    def test_signed_rank_without_ties_is_scipys_exact_one(self):
        random = np.random.default_rng(2)
        sets = [random.standard_normal(int(random.integers(2, EXACT + 1))) + 0.3 for _ in range(DATA_SETS // 4)]
        self.compare([("signed_rank", values, []) for values in sets],
                     [[stats.wilcoxon(values, method="exact").pvalue] for values in sets])

    def test_signed_rank_of_many_is_scipys_approximation(self):
        random = np.random.default_rng(3)
        sets = [random.integers(-9, 11, int(random.integers(EXACT + 1, 120))).astype(float) for _ in range(DATA_SETS // 4)]
        self.compare([("signed_rank", values, []) for values in sets],
                     [[stats.wilcoxon(values, zero_method="pratt", correction=True, method="approx").pvalue] for values in sets])

    def test_signed_rank_of_no_difference(self):
        self.assertEqual(ask([("signed_rank", [0, 0, 0], [])])[0], [1, 0])

    def test_rank_biserial_correlation(self):
        sets = [values for values in data_sets() if np.any(values)]
        expected = []
        for values in sets:
            ranks = (np.sign(values) * stats.rankdata(np.abs(values)))[values != 0]
            expected.append([ranks.sum() / np.abs(ranks).sum()])
        self.compare([("signed_rank", values, []) for values in sets], expected, first=1)

    def test_mann_whitney_without_ties_is_scipys_exact_one(self):
        random = np.random.default_rng(4)
        sets = [(random.standard_normal(int(random.integers(2, 16))), random.standard_normal(int(random.integers(2, 16))) + 0.5)
                for _ in range(DATA_SETS // 2)]
        self.compare([("mann_whitney", a, b) for a, b in sets],
                     [list(stats.mannwhitneyu(a, b, method="exact")) for a, b in sets])

    def test_mann_whitney_with_ties_is_scipys_permutation_test(self):
        sets = [(values, 2 - other[:6]) for values, other in zip(data_sets(most=6), data_sets(most=6, seed=5))]
        sets = [(a, b) for a, b in sets if len({*a, *b}) > 1][:100]

        def distance(a, b):
            return abs(stats.mannwhitneyu(a, b).statistic - len(a) * len(b) / 2)

        expected = []
        for a, b in sets:
            test = stats.permutation_test((a, b), distance, n_resamples=np.inf, alternative="greater")
            expected.append([stats.mannwhitneyu(a, b).statistic, test.pvalue])
        self.compare([("mann_whitney", a, b) for a, b in sets], expected)

    def test_mann_whitney_of_many_is_scipys_approximation(self):
        random = np.random.default_rng(6)
        sets = [(random.integers(0, 12, int(random.integers(26, 60))), random.integers(0, 14, int(random.integers(26, 60))))
                for _ in range(DATA_SETS // 4)]
        self.compare([("mann_whitney", a, b) for a, b in sets],
                     [list(stats.mannwhitneyu(a, b, method="asymptotic", use_continuity=True)) for a, b in sets])

    def test_kendalls_tau_b(self):
        sets = [(a, b[:len(a)]) for a, b in zip(data_sets(), data_sets(most=60, seed=7)) if len(b) >= len(a)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of equal values scipy knows no tau; ours is 0.
            expected = [[np.nan_to_num(stats.kendalltau(a, b).statistic)] for a, b in sets]
        self.compare([("kendall", a, b) for a, b in sets], expected)

    def test_quantiles(self):
        random = np.random.default_rng(8)
        sets = [(values, random.random()) for values in data_sets()]
        self.compare([("quantile", values, [share]) for values, share in sets],
                     [[stats.mstats.mquantiles(values, share, alphap=1, betap=1)[0]] for values, share in sets])

    def test_the_medians_interval_is_binomial(self):
        sets = list(data_sets())
        expected = []
        for values in sets:
            n, ordered = len(values), np.sort(values)
            k = max((k for k in range(n // 2) if 1 - 2 * stats.binom.cdf(k, n, 0.5) >= 0.95), default=0)
            expected.append([np.median(values), ordered[k], ordered[-1 - k], 1 - 2 * stats.binom.cdf(k, n, 0.5)])
        self.compare([("median", values, []) for values in sets], expected)
        for values, theirs in zip(sets, expected):  # The figures' own.
            np.testing.assert_allclose(claims.median(values)[:4], theirs, rtol=1e-12, atol=1e-12)

    def test_levels_of_many_values(self):
        questions = [(n, wanted) for n in (*range(2, 80), 500, 1100, 20_000) for wanted in (0.9, 0.95, 0.99)]
        expected = []
        for n, wanted in questions:
            # The largest k with P(X <= k) <= (1 - wanted) / 2.
            k = int(stats.binom.ppf((1 - wanted) / 2, n, 0.5)) + 1
            while k > 0 and 1 - 2 * stats.binom.cdf(k, n, 0.5) < wanted:
                k -= 1
            expected.append([1 - 2 * stats.binom.cdf(min(k, n // 2 - 1), n, 0.5)])
        self.compare([("level", question, []) for question in questions], expected)

    def test_the_independent_ratio_inverts_the_mann_whitney_test(self):
        random = np.random.default_rng(9)
        sets = [(random.lognormal(size=int(random.integers(3, 13))), random.lognormal(0.5, size=int(random.integers(3, 13))))
                for _ in range(200)]
        for (a, b), (ratio, low, high, level) in zip(sets, ask([("ratio", a, b) for a, b in sets])):
            ratios = np.sort(np.divide.outer(b, a).ravel())
            self.assertAlmostEqual(ratio, np.exp(np.median(np.log(ratios))), places=12)
            np.testing.assert_allclose(claims.independent_ratio(b, a)[:4], (ratio, low, high, level), rtol=1e-12)
            # Just within the interval the test does not reject at 1 - level, just outside it does (p <= 1 - level).
            for end, outwards in ((low, 1 - 1e-9), (high, 1 + 1e-9)):
                within = stats.mannwhitneyu(b / (end / outwards), a, method="exact").pvalue
                outside = stats.mannwhitneyu(b / (end * outwards), a, method="exact").pvalue
                self.assertGreater(within, 1 - level + 1e-12)
                self.assertLessEqual(outside, 1 - level + 1e-12)

    def test_holm_by_its_definition(self):
        """Holm (1979), step by step: the i-th smallest of m counts m - i times, and none less than the one before it."""
        random = np.random.default_rng(10)
        sets = [np.round(random.random(int(random.integers(1, 12))) ** 2, 2) for _ in range(DATA_SETS)]
        expected = [[max(min(1, q * np.sum(p >= q)) for q in p if q <= one) for one in p] for p in sets]
        self.compare([("holm", p, []) for p in sets], expected)


if __name__ == "__main__":
    end = sys.argv.index("--")
    ANSWER = sys.argv[1:end]
    del sys.argv[1:end + 1]
    unittest.main()
