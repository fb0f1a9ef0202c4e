# SPDX-License-Identifier: GPL-2.0-or-later
"""random_files: scenario files nobody thought of: valid ones, and ones with a known mistake.

Each is made from its own seed alone.
"""
import copy
import json
import random

SIZES = ("1", "1000", "4KiB", "64KiB", "100kB", "256KiB", "1MiB", "2MiB", "5MB")


def size(rng):
    s = rng.choice(SIZES)
    return int(s) if s.isdigit() else s


def milliseconds(rng, low, high):
    return "%dms" % rng.randint(low, high)


def window(rng, app, ms):
    """When an application begins and ends."""
    if rng.random() < 0.3:
        app["start"] = milliseconds(rng, 0, ms // 2)
    if rng.random() < 0.3:
        app["stop"] = milliseconds(rng, ms // 2 + 1, ms)
    if app["kind"] in ("sender", "server") and rng.random() < 0.15:
        app.update(busy=milliseconds(rng, 1, 50), quiet=milliseconds(rng, 1, 50))
    return app


def sender(rng):
    app = {"kind": "sender", "size": size(rng)}
    if rng.random() < 0.5:
        app["op"] = rng.choice(("write", "send", "read"))
    if rng.random() < 0.5:
        app["depth"] = rng.choice((1, 2, 16, 64))
    if rng.random() < 0.3:
        app["queue_pairs"] = rng.randint(1, 4)
    if rng.random() < 0.4:
        app["rate"] = rng.choice((1, 10, 250, 2000))
        if rng.random() < 0.5:
            app["burst"] = rng.randint(1, 16)
    if rng.random() < 0.2:
        app["post"] = "%dus" % rng.randint(1, 20)
    return app


def server(rng):
    app = {"kind": "server", "size": size(rng)}
    if rng.random() < 0.3:
        app["clients"] = rng.randint(1, 4)
    if rng.random() < 0.3:
        app["depth"] = rng.randint(1, 4)
    if rng.random() < 0.3:
        app["compute"] = "%dus" % rng.randint(10, 400)
    if rng.random() < 0.2:
        app["report"] = rng.choice((0, 500, 3000, 10000))
    if rng.random() < 0.1:
        app["report_stop"] = "1s"
    if rng.random() < 0.3:
        app["variation"] = rng.choice((100, 500, 1000, 3000))
    if rng.random() < 0.2:
        app.update(rng.choice(({"variation": 577, "distribution": "uniform"},
                               {"variation": 250, "distribution": "phases"})))
    if "clients" not in app and rng.random() < 0.2:
        app["rate"] = rng.choice((1, 100, 3000, 50000))
    elif rng.random() < 0.2:
        app["think"] = "%dus" % rng.randint(1, 5000)
        if rng.random() < 0.5:
            app["think_variation"] = rng.choice((0, 100, 1000, 2000))
    return app


def apps(rng, ms):
    out = []
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 3, 4))):
        kind = rng.random()
        app = (sender(rng) if kind < 0.45 else server(rng) if kind < 0.85 else
               {"kind": "burner"} if kind < 0.95 else {"kind": "idle"})
        out.append(window(rng, app, ms))
    return out


def guest(rng, i, links, ms):
    # a name may look like the number of another domain
    g = {"name": ("%d" if rng.random() < 0.2 else "g%d") % i, "apps": apps(rng, ms)}
    g["vcpus"] = max(1, len(g["apps"]) + rng.randint(-1, 1))
    if rng.random() < 0.3:
        g["weight"] = rng.choice((1, 128, 512, 65535))
    if rng.random() < 0.2:
        g["min_cap"] = rng.choice((2, 5, 20))
    if rng.random() < 0.15:
        g["max_cap"] = rng.choice((20, 50, 90))
    if rng.random() < 0.15:
        g["cap"] = rng.randint(20, 100 * g["vcpus"])
    if rng.random() < 0.1:
        g["exempt"] = True
    if rng.random() < 0.1:
        g["blind"] = True
    if rng.random() < 0.5:
        g["link"] = rng.choice(links)["name"]
    if rng.random() < 0.6:
        g["sla"] = {"tolerance": rng.choice((0, 20, 50)), "base": "209us", "base_io": "62036ns",
                    "base_deviation": "%dns" % rng.choice((0, 1000))}
    return g


def policy(rng):
    name = rng.choice(("null", "freemarket", "ioshares", "ioshares", "ratio", "slo"))
    if rng.random() < 0.6 or name == "null":
        return name
    params = {"freemarket": {"low": rng.randint(0, 1000), "step": 1000000},
              "ioshares": {"window": rng.choice((5000000, 20000000)), "calm": rng.randint(1, 8),
                           "sigma_over": rng.randint(0, 1), "futile": rng.choice((0, 200000000)),
                           "on_empty": rng.randint(0, 1)},
              "slo": {"tolerance": rng.choice((50, 200)), "retry": 1000000000},
              "ratio": {"victim_bytes": rng.choice((1024, 65536)), "hold": 100000000}}[name]
    return {"policy": name, "params": params}


def settings(rng):
    out = {}
    if rng.random() < 0.5:
        out["weight"] = rng.choice((1, 1024))
    if rng.random() < 0.3:
        out["exempt"] = rng.random() < 0.5
    if rng.random() < 0.4:
        out["min_cap"] = rng.choice((1, 3, 10))
    if not out or rng.random() < 0.4:
        out["max_cap"] = rng.choice((20, 40, 80))
    return out


def event(rng, names, vcpus, later, ms):
    e = {"at": milliseconds(rng, 1, ms - 1)}
    do = rng.choice(("destroy", "create", "reboot", "policy", "policy", "release", "retake", "cap",
                     "pause", "resume", "guest-set"))
    e["do"] = do
    if do == "policy":
        e["policy"] = policy(rng)
        return e
    if do in ("pause", "resume") and rng.random() < 0.5:
        return e
    e["guest"] = rng.choice(later if do == "create" and later else names)
    if do == "cap":
        e["cap"] = rng.choice((0, 10, 50, 100 * vcpus[e["guest"]]))
    if do == "guest-set":
        e["set"] = settings(rng)
    return e


def valid(seed):
    rng = random.Random("valid %d" % seed)
    ms = rng.randint(2000, 5000)
    sc = {"name": "seed %d" % seed, "seed": rng.randint(0, 2 ** 32 - 1), "duration": "%dms" % ms}
    sc["links"] = [{"name": "l%d" % i, "rate": rng.choice(("1GiB/s", "10Gbit/s", "100MiB/s")),
                    "mtu": rng.choice((1024, 2048, 4096)),
                    "profile": rng.choice(("paper-2011", "scaled"))}
                   for i in range(rng.randint(1, 3))]
    sc["policy"] = "null" if rng.random() < 0.2 else policy(rng)
    if rng.random() < 0.3:
        sc["host"] = {"scheduler": rng.choice(("credit", "credit2")),
                      "epoch": rng.choice(("1s", "500ms"))}
    if rng.random() < 0.6:
        sc["series"] = "%dms" % rng.choice((10, 50, 500))
    sc["guests"] = [guest(rng, i, sc["links"], ms) for i in range(rng.randint(1, 8))]
    names = [g["name"] for g in sc["guests"]]
    later = [n for n in names if rng.random() < 0.1]
    for g in sc["guests"]:
        if g["name"] in later:
            g["later"] = True
    if rng.random() < 0.6:
        vcpus = {g["name"]: g["vcpus"] for g in sc["guests"]}
        sc["events"] = [event(rng, names, vcpus, later, ms) for _ in range(rng.randint(1, 6))]
    if sc["policy"] == "null" and rng.random() < 0.7:
        sc["events"] = [e for e in sc.get("events", []) if e["do"] != "policy"]
    if len(names) > 1 and rng.random() < 0.05:
        sc["swap"] = rng.sample(names, 2)
    return sc


# --- mistakes -------------------------------------------------------------------------------

def objects(v, path=()):
    """Every object within, with its path."""
    if isinstance(v, dict):
        yield path, v
        for k, x in v.items():
            yield from objects(x, path + (k,))
    elif isinstance(v, list):
        for i, x in enumerate(v):
            yield from objects(x, path + (i,))


def unknown_key(rng, sc):
    rng.choice([o for _, o in objects(sc)])["colour"] = "red"


def wrong_type(rng, sc):
    sc[rng.choice(("guests", "links", "policy", "duration", "seed", "host"))] = rng.choice(
        (True, None, 1.5, [], "x"))


def no_guests(rng, sc):
    if rng.random() < 0.5:
        del sc["guests"]
    else:
        sc["guests"] = []


def twice_named(rng, sc):
    sc["guests"].append(copy.deepcopy(rng.choice(sc["guests"])))


def too_far(rng, sc):
    key, value = rng.choice((("duration", "2h"), ("duration", "1ms"), ("series", "1ms"),
                             ("series", "1h"), ("seed", 2 ** 32), ("seed", -1),
                             ("clock", "lunar"), ("name", "n" * 200)))
    sc[key] = value


def wrong_app(rng, sc):
    g = rng.choice(sc["guests"])
    g["apps"] = [rng.choice((
        {"kind": "burner", "size": "1KiB"}, {"kind": "burner", "rate": 5}, {"kind": "baker"},
        {"kind": "server", "rate": 5, "clients": 2}, {"kind": "server", "variation": 50},
        {"kind": "server", "variation": 578, "distribution": "uniform"},
        {"kind": "server", "think_variation": 500}, {"kind": "sender", "busy": "1ms"},
        {"kind": "server", "distribution": "uniform"}, {"kind": "sender", "variation": 500},
        {"kind": "sender", "size": 0}, {"kind": "sender", "size": "17MiB"}, {"size": "1KiB"},
        {"kind": "sender", "depth": 1025}, {"kind": "sender", "mtu": 300},
        {"kind": "sender", "mtu": 8192}, {"kind": "sender", "burst": 2},
        {"kind": "server", "clients": 65}, {"kind": "server", "report": 10001},
        {"kind": "sender", "start": "2s", "stop": "1s"}, {"kind": "sender", "post": "1ns"}))]


def wrong_guest(rng, sc):
    key, value = rng.choice((("vcpus", 0), ("vcpus", 513), ("cap", 99999), ("weight", 0),
                             ("weight", 65536), ("min_cap", 0), ("min_cap", 101),
                             ("link", "nowhere"), ("name", "a b"), ("name", ""), ("later", 1),
                             ("sla", {"base": "1us"}), ("sla", {"tolerance": 10001}),
                             ("apps", [{"kind": "idle"}] * 5)))
    rng.choice(sc["guests"])[key] = value


def wrong_event(rng, sc):
    name = sc["guests"][0]["name"]
    sc["events"] = sc.get("events", []) + [rng.choice((
        {"at": "1s"}, {"do": "destroy", "guest": name},
        {"at": "1h", "do": "destroy", "guest": name},
        {"at": "1s", "do": "explode", "guest": name}, {"at": "1s", "do": "destroy"},
        {"at": "1s", "do": "destroy", "guest": "nobody"}, {"at": "1s", "do": "cap", "guest": name},
        {"at": "1s", "do": "cap", "guest": name, "cap": 51201},
        {"at": "1s", "do": "policy", "guest": name, "policy": "null"},
        {"at": "1s", "do": "policy", "policy": "nobody"},
        {"at": "1s", "do": "policy", "policy": {"policy": "ratio", "params": {"low": 1}}},
        {"at": "1s", "do": "guest-set", "guest": name},
        {"at": "1s", "do": "guest-set", "guest": name, "set": {"weight": 0}},
        {"at": "1s", "do": "guest-set", "guest": name, "set": {"vcpus": 2}},
        {"at": "1s", "do": "pause", "guest": name, "set": {"weight": 1}},
        {"at": "-1s", "do": "reboot", "guest": name}))]


def wrong_policy(rng, sc):
    sc["policy"] = rng.choice(("nobody", {"policy": "ioshares", "params": {"window": 1}},
                               {"policy": "null", "params": {"low": 1}}, {"params": {}},
                               {"policy": "freemarket", "params": {"low": "much"}}))


def wrong_link(rng, sc):
    links = sc["links"]
    rng.choice(links).update(rng.choice((
        {"rate": "1KiB/s"}, {"rate": "fast"}, {"mtu": 1000}, {"mtu": 0}, {"profile": "dear"},
        {"name": ""})))


def wrong_swap(rng, sc):
    name = sc["guests"][0]["name"]
    sc["swap"] = rng.choice(([name], [name, name], [name, "nobody"], "x", [1, 2]))


MISTAKES = (unknown_key, wrong_type, no_guests, twice_named, too_far, wrong_app, wrong_guest,
            wrong_event, wrong_policy, wrong_link, wrong_swap)


def cut_short(rng, text):
    return text[:rng.randint(0, len(text.rstrip()) - 1)]


def with_rubbish(rng, text):
    at = rng.randrange(1, len(text))
    return text[:at] + rng.choice((b"\0", b"\xff\xfe", b"}{", b"\"\"\"")) + text[at:]


def key_twice(rng, text):
    return text.replace(b"{", b"{\n \"name\": \"a\", \"name\": \"b\",", 1)


DAMAGES = (cut_short, with_rubbish, key_twice)


def mistaken(seed):
    """(what is wrong, the bytes of the file)"""
    rng = random.Random("mistaken %d" % seed)
    sc = valid(seed)
    if rng.random() < 0.75:
        mistake = MISTAKES[seed % len(MISTAKES)]
        mistake(rng, sc)
        return mistake.__name__, json.dumps(sc, indent=1).encode()
    damage = DAMAGES[seed % len(DAMAGES)]
    return damage.__name__, damage(rng, json.dumps(sc, indent=1).encode())


def shaken(seed):
    """A valid file with a few bytes changed, digits to digits or any to any: good or not."""
    rng = random.Random("shaken %d" % seed)
    text = bytearray(json.dumps(valid(seed)).encode())
    digits = [i for i, c in enumerate(text) if 48 <= c < 58]
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.7:
            text[rng.choice(digits)] = 48 + rng.randrange(10)
        else:
            text[rng.randrange(len(text))] = rng.randrange(256)
    return bytes(text)
