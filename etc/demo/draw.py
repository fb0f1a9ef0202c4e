# SPDX-License-Identifier: GPL-2.0-or-later
"""draw: charts as text, for demo.py (simulated) and tests/system/experiment.py (real Xen)."""
import locale

BAR = 40


def bar(value, base, top, width=BAR):
    """A bar whose length is the value between base and top."""
    share = (value - base) / (top - base) if value and top > base else 0
    return "#" * max(0, min(width, round(width * share)))


def columns(names, series, base, top, step, form="%3.0f"):
    """Print latencies over time in columns; series: for each name [(value, cap or None)]."""
    width = BAR // 2
    length = len(form % 0)
    print("%6s  %s" % ("", "  ".join("%-*s" % (width + 9 + length, name) for name in names)))
    for i in range(max(len(s) for s in series)):
        cells = []
        for s in series:
            value, cap = s[i] if i < len(s) else (None, None)
            cells.append("|%-*s| %*s %4s" % (width, bar(value, base, top, width), length,
                                             form % value if value else "-",
                                             "%d%%" % cap if cap else "-"))
        print("%4.1f s  %s" % ((i + 1) * step, "   ".join(cells)))



def levels():
    """From low to high; those of Unicode where the terminal's language has them."""
    return "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588" if "utf" in locale.getpreferredencoding().lower() else "_.-:=+*#"


def sparkline(values, base, top):
    """A character for each value between base and top; a blank for None."""
    marks = levels()
    at = [None if v is None else round((v - base) / (top - base) * (len(marks) - 1)) for v in values]
    return "".join(" " if i is None else marks[max(0, min(len(marks) - 1, i))] for i in at)
