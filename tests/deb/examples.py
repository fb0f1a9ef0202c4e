#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""examples: the examples of the pages, read from their sources, and run in the root that examples.sh has made.

	examples.py TOP [PAGE]...	say what is wrong between pages and examples.rows, and which PAGE is none
	examples.py TOP --list		print each example, with its row
	examples.py TOP --run DIR INIT [PAGE]...	run them: DIR is the root, INIT its first process

An example is a display: commands behind a prompt, with what they print below them; or a file. Displays of the section
EXAMPLES count, and commands in other sections; in README files, each indented block. examples.rows says what each
needs, and what must come of it. What a page prints below a command is compared with what is printed: words must be the
same, and numbers may differ.
"""
import glob
import os
import re
import subprocess
import sys
import time

PATIENCE_S = 30
LONGEST_S = 1800  # of the commands of a display; resex-lab(1) has long ones
PROMPT = re.compile(r"(?:[a-z][a-z0-9]*)?([#$]) +(?=\S)")
MDOC = ((r"\e", "\\"), (r"\(dq", '"'), (r"\&", ""), (r"\-", "-"), (r"\(mu", "x"), (" Ns Ar ", ""), (" Ns ", ""))


class Command:
    def __init__(self, user, text, line):
        self.user, self.text, self.line, self.printed, self.row = user, text, line, [], None


class Display:
    """page, line: where. intro: the paragraph before. text: its lines. commands: none if it is a file."""
    def __init__(self, page, line, intro, text, commands):
        self.page, self.line, self.intro, self.text, self.commands, self.row = page, line, intro, text, commands, None

    def has(self, text):
        return text in self.intro or text in "\n".join(self.text)

    def rows(self):
        return [self.row] if self.row else [c.row for c in self.commands]


class Row:
    def __init__(self, where, page, key, setup, words):
        self.where, self.page, self.key, self.setup, self.used = where, page, key, setup, False
        self.what = {}
        for word in words.split(" ; "):
            verb, _, rest = word.strip().partition(" ")
            self.what.setdefault(verb.rstrip(":"), []).append(rest)
        unknown = set(self.what) - {"rc", "prints", "stays", "stops", "types", "writes", "file", "by", "differs", "no"}
        if unknown:
            sys.exit("%s: unknown: %s" % (where, ", ".join(unknown)))

    def one(self, verb, default=None):
        return self.what[verb][0] if verb in self.what else default

    def runs_on(self):
        """It ends by ^C: the regular expression that it prints before, or "". None: it ends by itself."""
        return self.one("stays", self.one("stops"))


def complete(text):
    """Is this a whole command, or does it go on in the next line?"""
    if text.endswith("\\"):
        return False
    r = subprocess.run(["bash", "-n", "-c", text], stderr=subprocess.PIPE, text=True)
    return not re.search("unexpected EOF|unexpected end of file|here-document", r.stderr)


def commands(lines, first, plain):
    """plain: without prompts each line is a command of root."""
    found, open_ = [], False
    plain = plain and not any(PROMPT.match(text) for text in lines)
    for n, text in enumerate(lines):
        m = PROMPT.match(text)
        if open_:
            found[-1].text += "\n" + text
        elif m or plain:
            found.append(Command(m.group(1) if m else "#", text[m.end():] if m else text, first + n))
        elif found:
            found[-1].printed.append(text)
            continue
        if found:
            open_ = not complete(found[-1].text)
    return found


def displays_of_page(top, path):
    page, section, lines, begin, intro = os.path.basename(path), "", [], None, []

    def done():
        cs = [] if lines[0].startswith("#!") else commands(lines, begin, False)
        return [Display(page, begin, " ".join(intro), lines, cs)] if cs or section == "EXAMPLES" else []

    with open(os.path.join(top, path)) as f:
        for n, text in enumerate(f, 1):
            text = text.rstrip("\n")
            for old, new in MDOC if text[:1] != "." or text[:4] == ".Dl " else ():
                text = text.replace(old, new)
            if text.startswith(".Sh "):
                section = text[4:]
            if text.startswith(".Bd "):
                kind, lines, begin = ".Ed", [], n + 1
            elif text.startswith(".Dl ") and begin is None:
                kind, lines, begin = ".Dl", [text[4:]], n
            elif text.startswith(".Dl "):
                lines.append(text[4:])
            elif begin is not None and text.startswith(".Ed") or begin is not None and kind == ".Dl":
                yield from done()
                begin, intro, lines = None, [], []
            elif begin is not None:
                lines.append(text)
            elif not text.startswith((".Pp", ".Sh")):
                intro.append(text)
    if begin is not None:
        yield from done()


def displays_of_readme(top, path):
    """Indented blocks. Behind a prompt, two blanks end the command, and an explanation follows."""
    lines, fenced = [], False
    with open(os.path.join(top, path)) as f:
        for n, text in enumerate(list(f) + ["end"], 1):
            fenced ^= text.startswith("```")
            if text.startswith("    ") and not fenced:
                lines.append(re.sub(r"^([#$] .*?)  .*", r"\1", text[4:].rstrip()))
            elif lines:
                yield Display(path, n - len(lines), "", lines, commands(lines, n - len(lines), True))
                lines = []


def displays(top):
    for path in sorted(glob.glob(os.path.join(top, "man/*.[1-8]"))):
        yield from displays_of_page(top, path)
    for path in ("README.md", "debian/resexd.README.Debian"):
        yield from displays_of_readme(top, path)
    for path, begin, end in (("etc/examples/cache.c", ": cc ", "\n"), ("etc/examples/two-hosts/run", "<<TEXT\n", "\nTEXT")):
        with open(os.path.join(top, path)) as f:
            before, _, rest = f.read().partition(begin)
        yield Display(path, before.count("\n") + 1, "", (begin.strip(" :\n") + " " + rest.split(end)[0]).split("\n"), [])


def read_rows(path):
    rows = []
    with open(path) as f:
        for n, text in enumerate(f, 1):
            where = "%s:%d" % (os.path.basename(path), n)
            if text.startswith("\t"):
                rows[-1][-1] += " " + text.strip()
            elif text.strip() and text[0] != "#":
                words = [w.strip() for w in text.split(" @ ", 3)]
                if len(words) != 4:
                    sys.exit("%s: PAGE @ EXAMPLE @ SET-UP @ WHAT is required" % where)
                rows.append([where] + words)
    return [Row(*r) for r in rows]


def assign(found, rows):
    """The row of each display, or of each of its commands. Returns sentences about those that are missing."""
    wrong = []
    for d in found:
        mine = [r for r in rows if r.page == d.page]
        whole = [r for r in mine if r.key[0] == "=" and d.has(r.key[1:].strip())]
        if len(whole) > 1:
            wrong.append("%s:%d: rows %s and %s" % (d.page, d.line, whole[0].where, whole[1].where))
        d.row = whole[0] if whole else None
        for c in [] if d.row else d.commands:
            exact = [r for r in mine if r.key == c.text.split("\n")[0].rstrip("\\ ").split("  ")[0]]
            c.row = next((r for r in exact if not r.used), exact[-1] if exact else None)
            if c.row:
                c.row.used = True
        if d.row:
            d.row.used = True
        what = [c.text.split("\n")[0] for c in d.commands if not c.row] or [d.text[0] + " ..."]
        if not d.rows() or None in d.rows():
            wrong += ["%s:%d: \"%s\" has no row: say in examples.rows what it needs and does" % (d.page, d.line, w) for w in what]
        elif len({r.setup for r in d.rows() if r.setup != "-"}) > 1:
            wrong.append("%s:%d: rows with different set-ups" % (d.page, d.line))
    return wrong + ["%s: no example of %s is \"%s\"" % (r.where, r.page, r.key) for r in rows if not r.used]


def as_printed(printed):
    """Of the lines below a command in the page: a pattern for what is printed."""
    lines = []
    for text in printed:
        words = [w if w == "..." else re.sub(r"[0-9]+", "[0-9]+", re.escape(w)) for w in text.split()]
        lines.append(re.sub(r"(\\s[+*])?\.\.\.(\\s[+*])?", ".*", r"\s+".join(words) + r"\s*$"))
    return [r"^\s*" + text for text, p in zip(lines, printed) if p.strip()]


class Runner:
    def __init__(self, top, root, init):
        self.top, self.root, self.init, self.up, self.n = top, root, init, None, 0
        self.passed = self.failed = self.left = 0

    def inside(self, *words):
        """What starts these words in the root."""
        return ["nsenter", "-t", self.init, "-a", "--root", "--wd", "env", "-i", "PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin",
                "LC_ALL=C.UTF-8", "TERM=xterm"] + list(words)

    def do(self, *words):
        return subprocess.run(self.inside(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def write(self, path, text):
        path = self.root + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)

    def shell(self, user, text):
        """A unit of its own: what its commands leave running ends with it. Returns its name and its process."""
        self.n += 1
        name = "example-%d" % self.n
        self.write("/run-example/%s" % name, text)
        who = ["--uid=op", "-E", "HOME=/home/op"] if user == "$" else ["-E", "HOME=/root"]
        return name, subprocess.Popen(
            self.inside("systemd-run", "-q", "--collect", "--wait", "--pipe", "--unit=" + name, "-E", "TERM=xterm", "-E", "LC_ALL=C.UTF-8",
                        "-E", "PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", "-p", "LimitMEMLOCK=infinity", "-p", "TimeoutStopSec=10",
                        "--working-directory=" + self.dir, *who, "bash", "/run-example/" + name),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def end(self, p, name, last, seconds):
        """Wait for a unit whose last command is this; kill it when it takes longer. systemd-run sometimes misses its end."""
        by = time.monotonic() + seconds
        while p.poll() is None and time.monotonic() < by:
            try:
                p.wait(2)
            except subprocess.TimeoutExpired:
                if self.out(last.n, "rc"):
                    by = 0
        if p.poll() is None:
            self.do("systemctl", "kill", "-s", "KILL", name)
            p.kill()
            p.wait()

    def out(self, n, kind="out"):
        try:
            with open("%s/run-example/%d.%s" % (self.root, n, kind), errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def set_up(self, page, setup):
        self.dir = "/srv/examples/" + page
        self.do("install", "-d", "-m", "1777", self.dir)
        if self.up != (page, setup):
            self.up = None
            r = self.do("bash", "/world.sh", setup, self.dir)
            if r.returncode:
                return "set-up %s: %s" % (setup, r.stdout[-1500:])
            self.up = (page, setup)
        return None

    def run(self, d):
        """Run what the display has; for each command or file, a line."""
        todo = [c for c in d.commands if not d.row and "no" not in c.row.what]
        if d.row and "no" not in d.row.what:
            error = self.set_up(d.page, d.row.setup) or self.file(d)
            self.tell(d, d.row.key[1:], error)
        elif todo:
            error = self.set_up(d.page, next(c.row.setup for c in todo))
            if error:
                self.tell(d, todo[0].text, error)
            else:
                self.session(d, todo)

    def file(self, d):
        text = "\n".join(d.text) + "\n"
        path = os.path.join(self.dir, d.row.one("file", "display"))
        self.write(path, text)
        if text.startswith("#!"):
            os.chmod(self.root + path, 0o755)
        if "by" in d.row.what:
            r = self.do("env", "-C", self.dir, "bash", "/world.sh", "by_" + d.row.one("by").split()[0], path, *d.row.one("by").split()[1:])
            return r.returncode and "rc %d:\n%s" % (r.returncode, r.stdout[-1500:])
        return None

    def session(self, d, todo):
        """Commands of one user, one after another, share a shell; one that runs on has its own."""
        def stop(p, name, c):
            c.ended = p.poll() is not None
            self.do("systemctl", "kill", "-s", "INT", name)
            self.end(p, name, c, 20)

        stay, groups = [], []
        for n, c in enumerate(todo):
            c.n = self.n * 100 + n
            if "writes" in c.row.what:
                self.write(os.path.join(self.dir, c.row.one("writes")), "\n".join(c.printed) + "\n")
            if groups and groups[-1][0].user == c.user and c.row.runs_on() is groups[-1][0].row.runs_on() is None:
                groups[-1].append(c)
            else:
                groups.append([c])
        for g in groups:
            text = "set -o pipefail\nshopt -s expand_aliases\n" + "".join(self.wrapped(c) for c in g)
            name, p = self.shell(g[0].user, text)
            if g[0].row.runs_on() is None:
                self.end(p, name, g[-1], LONGEST_S)
                continue
            self.await_print(p, g[0])
            if "stops" in g[0].row.what:
                stop(p, name, g[0])
            else:
                stay.append((p, name, g[0]))
        for s in reversed(stay):
            stop(*s)
        for c in todo:
            self.tell(d, c.text, self.judge(c))

    def wrapped(self, c):
        text = c.text
        if "types" in c.row.what:
            keys = "".join("sleep 1.5; printf '%%b' '%s'; " % k for k in c.row.one("types").split())
            text = "(%s sleep 3) | script -qec 'stty rows 24 cols 80; %s' /dev/null" % (keys, text)
        if c.row.runs_on() is not None:
            text = "trap : INT\n" + text
        return "{\n%s\n} >/run-example/%d.out 2>&1 </dev/null\necho $? >/run-example/%d.rc\n" % (text, c.n, c.n)

    def patterns(self, c):
        if "prints" in c.row.what:
            return c.row.what["prints"]
        return [] if "writes" in c.row.what or "differs" in c.row.what else as_printed(c.printed)

    def await_print(self, p, c):
        end = time.monotonic() + PATIENCE_S
        wanted = c.row.runs_on() or c.row.one("prints", "")
        while time.monotonic() < end and p.poll() is None:
            if wanted and re.search(wanted, self.out(c.n), re.M) or not wanted and time.monotonic() > end - PATIENCE_S + 2:
                return
            time.sleep(0.1)

    def judge(self, c):
        out, rc, wanted = self.out(c.n), self.out(c.n, "rc").strip(), c.row.one("rc", "0" if c.row.runs_on() is None else "0 130")
        if rc not in wanted.split():
            return "rc %s, not %s:\n%s" % (rc or "none", wanted, out[-1500:])
        if getattr(c, "ended", False):
            return "it ended by itself:\n%s" % out[-1500:]
        rest = out
        if c.row.runs_on() and not re.search(c.row.runs_on(), out, re.M):
            return "it prints no /%s/:\n%s" % (c.row.runs_on(), out[-1500:])
        for p in self.patterns(c):
            m = re.search(p, rest, re.M)
            if not m:
                return "it prints no /%s/:\n%s" % (p, out[-1500:])
            rest = rest[m.end():] if "prints" not in c.row.what else rest
        return None

    def tell(self, d, text, error):
        print("%s %s:%d: %s" % ("FAIL" if error else "pass", d.page, d.line, text.split("\n")[0]))
        if error:
            print("    " + error.replace("\n", "\n    "))
        self.failed += bool(error)
        self.passed += not error
        sys.stdout.flush()


def rendered_wrong(runner, found):
    """man(1) must show what is copied: no other quotes or dashes, no line cut in two."""
    shown = {}
    for d in found:
        if not re.search(r"\.[1-8]$", d.page):
            continue
        if d.page not in shown:
            r = runner.do("sh", "-c", "MANWIDTH=80 man ./%s | col -bx" % d.page.join(("pages/", "")))
            shown[d.page] = {" ".join(line.split()) for line in r.stdout.split("\n")}
        for n, text in enumerate(d.text):
            if " ".join(text.split()) not in shown[d.page]:
                yield "%s:%d: man shows it otherwise: %s" % (d.page, d.line + n, text)


def arguments(words):
    """TOP, the verb, the root, its first process, pages; it refuses others."""
    verb = words[1] if len(words) > 1 and words[1][:1] == "-" else ""
    least = {"": 1, "--list": 2, "--run": 4}
    if verb not in least:
        sys.exit("examples.py: there is no \"%s\": say --list, --run, or pages" % verb)
    if len(words) < least[verb]:
        sys.exit("examples.py: %s is missing; ./dev examples runs them; the forms are:%s" %
                 ("TOP, the folder of the sources," if not words else "the root, or its first process,", __doc__.split("\n\n")[1].join(("\n", ""))))
    if not os.path.isfile(os.path.join(words[0], "man/resex.1")):
        sys.exit("examples.py: %s has no man/resex.1: TOP is the folder of the sources" % words[0])
    root, init = words[2:4] if verb == "--run" else ("", "")
    return os.path.abspath(words[0]), verb, root, init, words[least[verb]:]


def main(*words):
    top, verb, root, init, pages = arguments(words)
    found, rows = list(displays(top)), read_rows(os.path.join(os.path.dirname(os.path.abspath(__file__)), "examples.rows"))
    wrong = assign(found, rows)
    for page in pages:
        if page not in {d.page for d in found}:
            sys.exit("examples.py: no page %s has examples: say one of %s" % (page, " ".join(sorted({d.page for d in found}))))
    if verb == "--list":
        for d in found:
            for what, r in [(d.row.key[1:], d.row)] if d.row else [(c.text.split("\n")[0], c.row) for c in d.commands]:
                if r:
                    said = "not run: " + r.one("no") if "no" in r.what else " ; ".join(
                        ("%s %s" % (v, w)).strip() for v, ws in r.what.items() for w in ws) + " [%s]" % r.setup
                    print("%s:%d: %s\n\t%s" % (d.page, d.line, what, said))
    for w in wrong:
        print("FAIL " + w)
    if verb != "--run":
        if not verb:
            print("examples: %d rows, %d wrong; ./dev examples runs them" % (len(rows), len(wrong)))
        return bool(wrong)
    runner = Runner(top, root, init)
    runner.failed = len(wrong)
    for w in rendered_wrong(runner, found) if not pages else ():
        print("FAIL " + w)
        runner.failed += 1
    for d in found:
        if None not in d.rows() and d.rows() and (not pages or d.page in pages):
            runner.left += sum("no" in r.what for r in d.rows())
            runner.run(d)
    print("examples: %d passed, %d failed, %d not run here (--list says why)" % (runner.passed, runner.failed, runner.left))
    return runner.failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
