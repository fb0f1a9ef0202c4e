#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pictures: doc/architecture.svg and doc/demo.svg, which README.md shows.

usage: pictures.py BUILD-DIRECTORY	make both anew
       pictures.py --check [TOP]	does doc/architecture.svg fit its sources, and doc/demo.svg its size?
       pictures.py --self-test		plant faults, and prove that each is found

The architecture is drawn from architecture.txt and from the table of tests/check-layers.sh. The demo is
the last screen of ./dev demo, as a terminal of 78 x 24 shows it: demo.py runs in one. Exit: 0, or 1 with
one line for each fault.
"""
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import textwrap
import xml.etree.ElementTree
from fcntl import ioctl
from xml.sax.saxutils import escape

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SOURCE, TABLE = "etc/pictures/architecture.txt", "tests/check-layers.sh"
ARCHITECTURE, DEMO = "doc/architecture.svg", "doc/demo.svg"
COLUMNS, LINES = 78, 24
BELOW = ("src/core", "src/util", "include/resex")  # most folders may use them: not named in boxes
REMEDY = "run ./dev pictures"


class Fault(Exception):
    pass


# --- what is drawn ---------------------------------------------------------------------


def read_bands(text):
    """[(title, what comes from above or None, [(folder, what, comes from the left)])]"""
    bands, between = [], None
    for n, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if words[0] == "v":
            between = line[1:].strip()
        elif line.endswith(":"):
            bands.append((line[:-1], between, []))
            between = None
        else:
            follows = words[0] == ">"
            words = words[follows:]
            if not bands or len(words) < 2:
                raise Fault("%s:%d: a band, or a folder and what it does, is expected" % (SOURCE, n))
            bands[-1][2].append((words[0], " ".join(words[1:]), follows))
    return bands


def read_table(text):
    """[(pattern, [what it may include])] of check-layers.sh."""
    body = re.search(r"^table\(\) \{\ncat <<'END'\n(.*?)^END$", text.replace("\tcat", "cat"), re.M | re.S)
    if not body:
        raise Fault("%s: it has no table() any more: mend read_table()" % TABLE)
    return [(w[0], w[1:]) for w in map(str.split, body.group(1).splitlines()) if w]


def folder_of(path, folders):
    """The folder of the picture that has this file or folder; None: a header of the system."""
    path = "include/" + path if path.startswith("resex/") else path
    best = [f for f in folders if path == f or path.startswith(f + "/")]
    return max(best, key=len, default=None)


def may_use(table, folders):
    """For each folder those that the table lets it include."""
    uses = {f: set() for f in folders}
    for pattern, what in table:
        of = folder_of(pattern, folders)
        if of:
            uses[of] |= {folder_of(w.rstrip("/"), folders) for w in what if w[0] not in "@!"} - {of, None}
    return {f: sorted(u, key=folders.index) for f, u in uses.items()}


def source_folders(top):
    """Those that have sources of C; without tests and what a build made."""
    found = set()
    for base in ("etc", "ibmon", "include", "policies", "src"):
        for path, _, files in os.walk(os.path.join(top, base)):
            if any(f.endswith((".c", ".h")) for f in files):
                found.add(os.path.relpath(path, top))
    return found


def lacking(bands, folders_there):
    """One line for each folder that only one of picture and tree has."""
    drawn = [f for _, _, boxes in bands for f, _, _ in boxes]
    out = ["%s: %s is there twice" % (SOURCE, f) for f in sorted(set(drawn)) if drawn.count(f) > 1]
    out += ["%s: the tree has no %s" % (SOURCE, f) for f in drawn if f not in folders_there]
    return out + ["%s: %s is missing" % (SOURCE, f) for f in sorted(folders_there) if not folder_of(f, drawn)]


# --- SVG ----------------------------------------------------------------------------------

HEAD = ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">\n'
        "<title>%s</title>\n")
WIDTH, MARGIN, GAP, LINE, TITLE = 960, 12, 18, 14, 20
STYLE = ("<style>text{font-family:Helvetica,Arial,sans-serif;font-size:11px;fill:#222}.t{font-weight:bold;font-size:12px}"
         ".f{font-weight:bold;font-family:monospace}.u{fill:#667;font-size:10px}</style>\n"
         '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
         '<path d="M0 0L8 4L0 8z" fill="#345"/></marker></defs>\n')


def text_at(x, y, text, kind=""):
    return '<text x="%d" y="%d"%s>%s</text>\n' % (x, y, ' class="%s"' % kind if kind else "", escape(text))


def arrow(x1, y1, x2, y2):
    return '<path d="M%d %dL%d %d" stroke="#345" stroke-width="1.5" marker-end="url(#a)"/>\n' % (x1, y1, x2, y2)


def short(folder):
    return folder[4:] if folder.startswith("src/") else folder


def box_lines(what, uses, width):
    """(what it does, what it may use), folded to the width of its box."""
    said = ", ".join(short(u) for u in uses if u not in BELOW)
    return (textwrap.wrap(what, int(width / 6)),
            textwrap.wrap("uses " + said, int(width / 5.2), break_on_hyphens=False) if said else [])


def draw_band(band, uses, top, out):
    """Its boxes, from top on; the height."""
    title, _, boxes = band
    width = (WIDTH - 2 * MARGIN - (len(boxes) + 1) * GAP) // max(len(boxes), 5)
    texts = [box_lines(what, uses[f], width - 12) for f, what, _ in boxes]
    height = (2 + max(len(w) + len(u) for w, u in texts)) * LINE
    out.append('<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="#eef2f6"/>\n'
               % (MARGIN, top, WIDTH - 2 * MARGIN, height + TITLE + 2 * MARGIN))
    out.append(text_at(MARGIN + 10, top + 17, title, "t"))
    y = top + TITLE + MARGIN // 2
    for i, ((folder, _, follows), (what, used)) in enumerate(zip(boxes, texts)):
        x = MARGIN + GAP + i * (width + GAP)
        out.append('<rect x="%d" y="%d" width="%d" height="%d" rx="3" fill="#fff" stroke="#345"/>\n' % (x, y, width, height))
        out.append(text_at(x + 6, y + LINE + 2, folder, "f"))
        for n, line in enumerate(what + used, 2):
            out.append(text_at(x + 6, y + n * LINE + 2, line, "u" if n - 2 >= len(what) else ""))
        if follows:
            out.append(arrow(x - GAP, y + height // 2, x - 1, y + height // 2))
    return height + TITLE + 2 * MARGIN


def architecture(bands, table):
    """The picture, as text."""
    folders = [f for _, _, boxes in bands for f, _, _ in boxes]
    uses, out, y = may_use(table, folders), [], MARGIN
    for band in bands:
        if band[1] is not None:
            out.append(arrow(WIDTH // 2, y, WIDTH // 2, y + GAP - 1) if band[1] else "")
            out.append(text_at(WIDTH // 2 + 10, y + 13, band[1]))
            y += GAP if band[1] else GAP // 2
        y += draw_band(band, uses, y, out)
    out.append(text_at(MARGIN + 10, y + 16, "Made by ./dev pictures. uses: what a folder may include, by tests/check-layers.sh; "
                       "nearly all may also use what is below all, and src/core.", "u"))
    y += 26
    return (HEAD % (WIDTH, y, WIDTH, y, "The folders of ResEx") + STYLE +
            '<rect width="%d" height="%d" fill="#fff"/>\n' % (WIDTH, y) + "".join(out) + "</svg>\n")


# --- the demo --------------------------------------------------------------------------------


def run_in_terminal(command):
    """What it wrote to a terminal of its own."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", LC_ALL="C.UTF-8", COLUMNS=str(COLUMNS), LINES=str(LINES))
        os.execvp(command[0], command)
    ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    said = b""
    while True:
        try:
            more = os.read(fd, 65536)
        except OSError:  # Linux says so when the other end is closed
            more = b""
        if not more:
            break
        said += more
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise Fault("%s failed: %s" % (" ".join(command), said.decode(errors="replace")))
    return said.decode()


def last_screen(said):
    """The lines that the terminal shows then. demo.py writes no more than text, CR and LF."""
    if re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", said):
        raise Fault("the demo writes control characters: teach last_screen() what they do")
    lines, at = [""], 0
    for part in re.findall("\r|\n|[^\r\n]+", said):
        if part == "\n":
            lines.append("")
        elif part != "\r":
            lines[-1] = lines[-1][:at] + part + lines[-1][at + len(part):]
        at = 0 if part in "\r\n" else at + len(part)
    return [line.rstrip() for line in lines[:-1] if lines][-LINES:]


CELL, ROW, EDGE = 8, 17, 16


def terminal(lines):
    """The screen as a picture. Each line has its length, whatever the font is."""
    width, height = COLUMNS * CELL + 2 * EDGE, LINES * ROW + 58
    out = [HEAD % (width, height, width, height, "The last screen of ./dev demo"),
           "<style>text{font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:13px;fill:#dde;white-space:pre}"
           ".p{fill:#9c9}</style>\n",
           '<rect width="%d" height="%d" rx="6" fill="#1b1e26"/>\n' % (width, height),
           '<text class="p" x="16" y="26" textLength="88">$ ./dev demo</text>\n']
    for n, line in enumerate(lines):
        text = line.lstrip()
        if text:  # no-break spaces: viewers make one of several others
            out.append('<text x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs">%s</text>\n'
                       % (EDGE + (len(line) - len(text)) * CELL, 26 + (n + 2) * ROW, len(text) * CELL,
                          escape(text.replace(" ", "\u00a0"))))
    return "".join(out) + "</svg>\n"


def lines_of(svg):
    """The lines of a picture that terminal() made."""
    root = xml.etree.ElementTree.fromstring(svg)
    return [" " * ((int(e.get("x")) - EDGE) // CELL) + "".join(e.itertext()).replace("\u00a0", " ")
            for e in root.iter("{http://www.w3.org/2000/svg}text")][1:]


# --- check -------------------------------------------------------------------------------------


def read(top, name):
    with open(os.path.join(top, name), encoding="utf-8") as f:
        return f.read()


def faults(source, table, there, picture, demo):
    """One line for each thing that does not fit."""
    try:
        bands = read_bands(source)
        out = lacking(bands, there)
        if not out and architecture(bands, read_table(table)) != picture:
            out.append("%s: it does not fit %s and %s: %s" % (ARCHITECTURE, SOURCE, TABLE, REMEDY))
        lines = lines_of(demo)
        if not lines or len(lines) > LINES or max(map(len, lines)) > COLUMNS:
            out.append("%s: it is no screen of %d x %d: %s" % (DEMO, COLUMNS, LINES, REMEDY))
        return out
    except (Fault, xml.etree.ElementTree.ParseError) as e:
        return [str(e)]


def all_of(top):
    return [read(top, SOURCE), read(top, TABLE), source_folders(top), read(top, ARCHITECTURE), read(top, DEMO)]


def self_test():
    """Each planted fault must be found; what is planted is missed: its line."""
    good = all_of(TOP)
    source, table, there, picture, demo = good
    drawn = re.search(r"(?m)^src/cli .*\n", source).group(0)
    planted = (
        ("nothing", good, 0),
        ("a folder that is not drawn", [source.replace(drawn, ""), table, there, picture, demo], 1),
        ("a folder that is not there", [source + "src/none  nothing\n", table, there, picture, demo], 1),
        ("a folder drawn twice", [source + drawn, table, there, picture, demo], 1),
        ("a new folder", [source, table, there | {"src/new"}, picture, demo], 1),
        ("another text", [source.replace("answers resex", "answers"), table, there, picture, demo], 1),
        ("a layer that may include more", [source, table.replace("\nsrc/sql/sqlite*", "\nsrc/sql/x* src/hv/\nsrc/sql/sqlite*"),
                                           there, picture, demo], 1),
        ("a table that is not read", [source, table.replace("table()", "rows()"), there, picture, demo], 1),
        ("a line without a band", ["src/cli  resex\n" + source, table, there, picture, demo], 1),
        ("a changed picture", [source, table, there, picture.replace("#eef2f6", "#eeeeee"), demo], 1),
        ("a demo that is too wide", [source, table, there, picture, demo.replace("SIMULATED", "SIMULATED" * 9)], 1),
        ("a demo that is broken", [source, table, there, picture, demo[:-9]], 1),
    )
    missed = [name for name, what, n in planted if len(faults(*what)) != n]
    for name in missed:
        print("pictures: planted and not found once: %s" % name)
    print("pictures: %d of %d plants found" % (len(planted) - len(missed), len(planted)))
    return bool(missed)


def make(build):
    bands = read_bands(read(TOP, SOURCE))
    wrong = lacking(bands, source_folders(TOP))
    if wrong:
        raise Fault("\n".join(wrong))
    said = run_in_terminal([sys.executable, os.path.join(TOP, "etc/demo/demo.py"), build])
    for name, what in ((ARCHITECTURE, architecture(bands, read_table(read(TOP, TABLE)))), (DEMO, terminal(last_screen(said)))):
        with open(os.path.join(TOP, name), "w", encoding="utf-8") as f:
            f.write(what)
        print("pictures: %s is made" % name)


def main():
    words = sys.argv[1:]
    if words[:1] == ["--check"] and len(words) <= 2:
        wrong = faults(*all_of(*words[1:] or [TOP]))
        print("\n".join(wrong or ["pictures: both fit"]))
        sys.exit(1 if wrong else 0)
    if words == ["--self-test"]:
        sys.exit(self_test())
    if len(words) != 1 or words[0].startswith("-"):
        sys.exit("usage: pictures.py BUILD-DIRECTORY | --check [TOP] | --self-test")
    try:
        make(words[0])
    except Fault as e:
        sys.exit("pictures: %s" % e)


if __name__ == "__main__":
    main()
