# SPDX-License-Identifier: GPL-2.0-or-later
"""permute: is one sample of repeats lower than another? By permutation, nothing assumed but this:

if the two conditions were the same, each repeat's figure could as well have come from the other.
p is the share of all ways to deal the pooled figures out for which the difference of the means is
at least as low as the one that was seen; the one seen is among them, so that p is never 0 and
p <= x happens with a probability of at most x when the conditions are the same (one-sided).
"""
import itertools
import math
import random

EXACT_MAX = 200000  # so many ways are all looked at; of more, DRAWS by chance
DRAWS = 99999


def lower(a, b, seed=1, exact_max=EXACT_MAX, draws=DRAWS):
    """p of "a is not lower than b"."""
    pool = list(a) + list(b)
    n = len(a)
    if not a or not b:
        raise ValueError("a sample is empty")
    # With both sizes fixed the difference of the means grows with the sum of the first sample.
    limit = math.fsum(a) + 1e-9 * math.fsum(abs(x) for x in pool)
    if math.comb(len(pool), n) <= exact_max:
        ways = itertools.combinations(pool, n)
        sums = [math.fsum(way) <= limit for way in ways]
        return sum(sums) / len(sums)
    rng = random.Random(seed)
    hits = sum(math.fsum(rng.sample(pool, n)) <= limit for _ in range(draws))
    return (hits + 1) / (draws + 1)


def least(n, m):
    """The lowest p that samples of these sizes can have."""
    return 1 / math.comb(n + m, n)
