#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The permutation test, against values worked out by hand and against what p values must be."""
import random
import sys
import unittest

sys.dont_write_bytecode = True  # the sources may be read-only
from permute import DRAWS, least, lower


class Permute(unittest.TestCase):
    def test_separated_samples_have_the_lowest_p(self):
        self.assertEqual(lower([1, 2, 3], [4, 5, 6]), 1 / 20)
        self.assertEqual(lower([1, 2, 3, 4], [5, 6, 7, 8]), 1 / 70)
        self.assertEqual(least(4, 4), 1 / 70)

    def test_the_wrong_way_round_has_p_1(self):
        self.assertEqual(lower([4, 5, 6], [1, 2, 3]), 1)

    def test_equal_samples_have_p_1(self):
        self.assertEqual(lower([7.7] * 5, [7.7] * 5), 1)
        self.assertEqual(lower([0.1] * 20, [0.1] * 20), 1)

    def test_worked_out_by_hand(self):
        # Of 1, 3 / 2, 4: sums 3 (1 2), 4 (1 3), 5 (1 4, 2 3), 6 (2 4), 7 (3 4); two of six <= 4.
        self.assertEqual(lower([1, 3], [2, 4]), 2 / 6)
        # Unequal sizes: 2 / 1, 3: of the three, 1 and 2 are <= 2.
        self.assertEqual(lower([2], [1, 3]), 2 / 3)
        # Ties count: 1, 2 / 2, 3: 1+2 twice, of six.
        self.assertEqual(lower([1, 2], [2, 3]), 2 / 6)

    def test_the_order_within_a_sample_is_nothing(self):
        self.assertEqual(lower([0.3, 0.1, 0.2], [0.6, 0.05, 0.4]),
                         lower([0.1, 0.2, 0.3], [0.4, 0.6, 0.05]))

    def test_by_chance_is_near_exact(self):
        rng = random.Random(5)
        for _ in range(5):
            a = [rng.gauss(0, 1) for _ in range(6)]
            b = [rng.gauss(0.7, 1) for _ in range(6)]
            self.assertAlmostEqual(lower(a, b), lower(a, b, exact_max=0, draws=20000), delta=0.02)

    def test_by_chance_is_never_0(self):
        p = lower(range(20), range(100, 120))
        self.assertEqual(p, 1 / (DRAWS + 1))
        self.assertGreater(p, least(20, 20))

    def test_exchangeable_data_give_uniform_p(self):
        rng = random.Random(11)
        rounds = 2000
        ps = [lower([rng.expovariate(1) for _ in range(4)], [rng.expovariate(1) for _ in range(4)])
              for _ in range(rounds)]
        for x in (0.05, 0.1, 0.25, 0.5, 0.75, 0.9):
            at = int(x * 70) / 70  # p has steps of 1 / 70
            share = sum(p <= at + 1e-12 for p in ps) / rounds
            sigma = (at * (1 - at) / rounds) ** 0.5
            self.assertLess(abs(share - at), 4 * sigma, "p <= %.3f in %.3f of all" % (at, share))

    def test_an_empty_sample_is_refused(self):
        self.assertRaises(ValueError, lower, [], [1])


if __name__ == "__main__":
    unittest.main()
