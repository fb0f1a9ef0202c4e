#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check: were all replies of a run right? The checker of resex-cacheload(1) in another language, over a log of --log.

Written from the manual page, section "What is checked", not from the C. It keeps the history as it was, and asks it for
each reply anew: slower than resex-cacheload --check, and without any of its series of times.

    tests/cache/check.py FILE    prints one JSON object; exit 0: all are right, 1: one is not, 2: it is no log
"""
import bisect
import json
import re
import sys

RULES = ("stale", "backwards", "future", "undone", "torn", "wrong")
NAME = re.compile(r"[a-z0-9/_-]{1,63}\Z")
STATE = re.compile(r"([a-z0-9/_-]{1,63})=([0-9]{1,19}):([0-9]{1,19})\Z")
MAX = 2 ** 63 - 1


class NoLog(Exception):
    pass


def need(good, what):
    if not good:
        raise NoLog(what)


def whole(line, key):
    v = line.get(key)
    need(type(v) is int and v >= 0, "%s is no number" % key)
    return v


def read_states(text):
    """{name: (value, last)}"""
    need(isinstance(text, str) and text, "no states")
    states = {}
    for word in text.split(" "):
        m = STATE.match(word)
        need(m, "\"%s\" is no state" % word[:80])
        name, value, last = m.group(1), int(m.group(2)), int(m.group(3))
        need(value <= MAX and last <= MAX, "a number is too large")
        need(name not in states, "%s is there twice" % name)
        states[name] = (value, last)
    return states


class Update:
    def __init__(self, number, begin, things):
        self.number, self.begin, self.things = number, begin, things
        self.how = None
        self.made = {}  # thing: the value that this update gave it, as a right reply has shown
        self.beside = {}  # thing: the lowest value beside which a right reply showed this update as the last of a thing


class Thing:
    def __init__(self):
        self.base, self.base_last = 0, 0
        self.begun = []  # times
        self.undone = 0
        self.done = []  # times at which done updates ended
        self.shown = []  # (time, value), both rising
        self.made_by = {}  # value: update

    def done_before(self, t):
        return bisect.bisect_left(self.done, t)

    def shown_before(self, t):
        i = bisect.bisect_left(self.shown, (t, -1))
        return self.shown[i - 1][1] if i else self.base

    def over_since(self, value):
        """When it was first known to be above value; None: it is not."""
        if value < self.base:
            return None
        times = []
        if value - self.base < len(self.done):
            times.append(self.done[value - self.base])
        i = bisect.bisect_right([v for _, v in self.shown], value)
        if i < len(self.shown):
            times.append(self.shown[i][0])
        return min(times) if times else None


class Checker:
    def __init__(self):
        self.things, self.updates = {}, []
        self.now = 0
        self.counts = dict.fromkeys(("replies", "hits", "updates", "updates_begun", "updates_undone",
                                     "updates_unknown", "checked") + RULES, 0)
        self.first = None

    def thing(self, name):
        return self.things.setdefault(name, Thing())

    def update(self, number):
        return self.updates[number - 1] if 1 <= number <= len(self.updates) else None

    # --- lines ---

    def base(self, line):
        for name, (value, last) in read_states(line.get("states")).items():
            t = self.thing(name)
            t.base, t.base_last = value, last

    def begin(self, line):
        names = line.get("things")
        need(isinstance(names, list) and 1 <= len(names) <= 6 and len(set(map(str, names))) == len(names), "no things")
        for name in names:
            need(isinstance(name, str) and NAME.match(name), "no thing")
        need(line.get("u") == len(self.updates) + 1, "a number is left out")
        self.updates.append(Update(line["u"], self.now, names))
        for name in names:
            self.thing(name).begun.append(self.now)
        self.counts["updates_begun"] += 1

    def end(self, line):
        how = line.get("how")
        need(how in ("done", "undone", "unknown"), "no such end")
        u = self.update(whole(line, "u"))
        need(u and not u.how, "no update is under way")
        u.how = how
        for name in u.things:
            if how == "done":
                self.thing(name).done.append(self.now)
            elif how == "undone":
                self.thing(name).undone += 1
        self.counts["updates" if how == "done" else "updates_" + how] += 1

    def reply(self, line):
        begin, asked = whole(line, "b"), line.get("asked")
        need(isinstance(asked, str) and begin < self.now, "no reply")
        if asked != "/states":
            self.counts["replies"] += 1
            self.counts["hits"] += line.get("hit") is True
        self.counts["checked"] += 1
        if "states" in line and line["states"] is None:
            broken, why = {"wrong"}, asked
        else:
            states = read_states(line.get("states"))
            broken, why = self.judge(states, begin)
            if not broken:
                self.learn(states)
        for rule in broken:
            self.counts[rule] += 1
        if broken and self.first is None:
            self.first = "%s: %s: %s" % ([r for r in RULES if r in broken][0], asked, why)

    # --- the rules ---

    def judge(self, states, begin):
        broken, why = set(), ""
        for name, (value, last) in states.items():
            t = self.thing(name)
            mine = set()
            done = t.done_before(begin)
            if done and value < t.base + done:
                mine.add("stale")
            if value < t.shown_before(begin):
                mine.add("backwards")
            if value > t.base:
                u = self.update(last)
                if value - t.base > len(t.begun) - t.undone or not u or name not in u.things:
                    mine.add("future")
                elif u.how == "undone":
                    mine.add("undone")
            if mine:
                broken |= mine
                why = why or "%s=%d:%d" % (name, value, last)
        if "future" not in broken and self.is_torn(states):
            broken.add("torn")
            why = why or "not of one snapshot"
        return broken, why

    def span(self, name, value, last):
        """When the thing can have been so: from, to; None: without end."""
        t = self.thing(name)
        if value <= t.base:
            return None, t.over_since(value)
        return max(self.update(last).begin, t.begun[value - t.base - 1]), t.over_since(value)

    def is_torn(self, states):
        spans = [self.span(name, *state) for name, state in states.items()]
        firsts = [f for f, _ in spans if f is not None]
        lasts = [t for _, t in spans if t is not None]
        if firsts and lasts and max(firsts) > min(lasts):
            return True
        return any(self.is_torn_at(states, name, *state) for name, state in states.items())

    def is_torn_at(self, states, name, value, last):
        t = self.thing(name)
        if value < t.base:
            return False
        if value == t.base:
            if last != t.base_last:
                return True
        else:
            u = self.update(last)
            if t.made_by.get(value, last) != last or value > u.beside.get(name, value):
                return True
            # All of its last update must be there.
            for other, made in u.made.items():
                if other in states and states[other][0] < made:
                    return True
        # Of the update that made the next value, nothing may be there.
        u = self.update(t.made_by.get(value + 1, 0))
        for other in u.things if u else ():
            if other != name and other in states and other in u.made and states[other][0] >= u.made[other]:
                return True
        return False

    def learn(self, states):
        for name, (value, last) in states.items():
            t = self.thing(name)
            if value <= t.base:
                continue
            if value > (t.shown[-1][1] if t.shown else t.base):
                t.shown.append((self.now, value))
            t.made_by[value] = last
            u = self.update(last)
            u.made[name] = value
            for other in u.things:
                if other in states:
                    u.beside[other] = min(states[other][0], u.beside.get(other, MAX))

    def line(self, text):
        need(text.endswith("\n"), "it is cut")
        try:
            line = json.loads(text, object_pairs_hook=once)
        except ValueError:
            raise NoLog("no JSON") from None
        need(isinstance(line, dict), "no object")
        t = whole(line, "t")
        need(t > self.now, "time goes back")
        self.now = t
        kinds = {"base": self.base, "begin": self.begin, "end": self.end, "reply": self.reply}
        need(line.get("e") in kinds, "no such line")
        kinds[line["e"]](line)


def once(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key is there twice")
    return dict(pairs)


def check(file):
    """The counts, and the first wrong reply. NoLog: it is none."""
    c, n = Checker(), 0
    with open(file, encoding="utf-8", newline="\n") as f:
        for n, text in enumerate(f, 1):
            try:
                c.line(text)
            except NoLog as e:
                raise NoLog("%s:%d: %s" % (file, n, e)) from None
    need(n, "%s: it is empty" % file)
    return dict(c.counts, first=c.first)


def main():
    if len(sys.argv) != 2:
        print("usage: check.py FILE", file=sys.stderr)
        return 2
    try:
        counts = check(sys.argv[1])
    except (NoLog, OSError, UnicodeDecodeError) as e:
        print("check.py: %s" % e, file=sys.stderr)
        return 2
    print(json.dumps(counts))
    return 1 if any(counts[r] for r in RULES) or not counts["checked"] else 0


if __name__ == "__main__":
    sys.exit(main())
