# SPDX-License-Identifier: GPL-2.0-or-later
"""draw: what demo.py (simulated) and tests/system/experiment.py (real Xen) show alike, as text."""

BAR = 40


def bar(value, base, top, width=BAR):
    """A bar from the base up to the worst there is."""
    share = (value - base) / (top - base) if value and top > base else 0
    return "#" * max(0, min(width, round(width * share)))


def columns(names, series, base, top, step, form="%3.0f"):
    """Latencies over time beside each other; series: for each name [(value, cap or None)]."""
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
