# SPDX-License-Identifier: GPL-2.0-or-later
"""group: the tests of a file, in its order: functions that take a host and return their figures."""


class Group:
    def __init__(self, name):
        self.name, self.tests = name, []

    def test(self, sentence):
        def keep(function):
            self.tests.append((sentence, function))
            return function
        return keep
