"""Counts the instructions that an item costs mirror, way by way, and holds them against the page.

An item costs the instructions of a run with many items less those of a run with few, by the
difference in items: what starting costs is in both. Seconds depend on the machine and its mood;
instructions hardly do. The kernel's are not among them.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import callgrind
from origin import Origin
from ways import WAYS
from workload import make_file

BEGIN = "<!-- cost: begin -->"
END = "<!-- cost: end -->"
# How much more than the page says an item may cost, for --check.
TOLERANCE = 0.10


class Tools:
    """What the ways share: the origin, its files, the programs, and the counting."""

    def __init__(self, mirror, place, most):
        self.mirror = os.path.abspath(mirror)
        self.place = place
        self.floor = os.path.join(place, "floor")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "floor.c")
        subprocess.run(["cc", "-O2", "-o", self.floor, source, "-lcurl", "-lcrypto", "-lsqlite3",
                        "-lpthread"], check=True)
        self.origin = Origin(os.path.join(place, "origin"))
        self.callgrind = callgrind.Callgrind(place)
        self.files = []
        for number in range(most):
            name = f"small/{number // 500:03d}/{number:05d}.bin"
            sha256 = make_file(os.path.join(self.origin.www, name), 4096)
            self.files.append((name, 4096, sha256))


def per_item(way, tools, program, round_):
    """What an item costs a program: (digests apart, digests); None where it has no such way."""
    counts = []
    for count in (way.few, way.many):
        made = way(tools, tools.place, count, f"{way.name}-{program}-{round_}-{count}")
        command = getattr(made, program)()
        if command is None:
            return None
        counts.append(tools.callgrind.count(command.words))
        if program == "mirror" and (wrong := made.flaw()):
            raise RuntimeError(f"{way.name}: {wrong}")
        shutil.rmtree(made.place)
    few, many = counts
    items = way.many - way.few
    return (many.apart - few.apart) / items, (many.digest - few.digest) / items


def thousands(value):
    return f"{value / 1000:.1f}"


def row(way, measured):
    """A row of the table: the median of mirror's runs, and the floor's."""
    mirror = sorted(apart for apart, _ in measured["mirror"])
    digest = sorted(digest for _, digest in measured["mirror"])
    middle = mirror[len(mirror) // 2]
    floor = measured.get("floor")
    return [f"{way.name}: {way.title}", thousands(middle), thousands(floor[0]) if floor else "",
            f"{middle / floor[0]:.1f}" if floor else "", thousands(digest[len(digest) // 2])]


def table(rows, runs):
    head = ["an item", "mirror", "floor", "mirror by the floor", "digest"]
    lines = [f"| {' | '.join(head)} |", "|---|---:|---:|---:|---:|"]
    lines += [f"| {' | '.join(cells)} |" for cells in rows]
    day = time.strftime("%Y-%m-%d", time.gmtime())
    return "\n".join(lines) + (
        f"\n\nThousands of instructions without the digest, {day}; mirror's are the median of "
        f"{runs} runs.\n")


def on_page(page):
    """Thousands of instructions by a way's name, as the page tells them."""
    with open(page) as file:
        text = file.read().split(BEGIN)[1].split(END)[0]
    return {name: float(value) * 1000
            for name, value in re.findall(r"^\| (\w+): [^|]*\| ([\d.]+) \|", text, re.M)}


def write(page, text):
    with open(page) as file:
        head, rest = file.read().split(BEGIN)
    with open(page, "w") as file:
        file.write(f"{head}{BEGIN}\n\n{text}\n{END}{rest.split(END)[1]}")


def check(tools, ways, page):
    """Counts each way once, and one above its bound twice more, in case that was chance."""
    told = on_page(page)
    failed = False
    for way in ways:
        if way.name not in told:
            print(f"{way.name}: the page does not tell what it costs; run scripts/cost --page")
            failed = True
            continue
        bound = told[way.name] * (1 + TOLERANCE)
        found = []
        while len(found) < 3 and (not found or min(found) > bound):
            found.append(per_item(way, tools, "mirror", len(found))[0])
        best = min(found)
        is_over = best > bound
        failed = failed or is_over
        print(f"{way.name}: {thousands(best)} thousand instructions an item, the page says "
              f"{thousands(told[way.name])} ({(best / told[way.name] - 1) * 100:+.1f} %)"
              + (": too many" if is_over else ""), flush=True)
    if failed:
        print("cost: an item costs more than 10 % above docs/performance.md, or is not there. "
              "If that is meant,\nscripts/cost --page writes what it costs now.")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(prog="scripts/cost", description=__doc__)
    parser.add_argument("ways", nargs="*", metavar="WAY", help="e.g. W3 part; default: all")
    parser.add_argument("--mirror", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--at", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=3, help="how often mirror is counted (3)")
    parser.add_argument("--page", action="store_true", help="write docs/performance.md")
    parser.add_argument("--check", action="store_true",
                        help="fail where an item costs 10 %% more than docs/performance.md says")
    arguments = parser.parse_args()
    known = {way.name: way for way in WAYS}
    if unknown := [name for name in arguments.ways if name not in known]:
        parser.error(f"{unknown[0]} is no way; there are {', '.join(known)}")
    if arguments.page and arguments.ways:
        parser.error("the page has all ways")
    ways = [known[name] for name in arguments.ways] or WAYS
    if lack := callgrind.lack():
        print(f"cost: nothing was counted: {lack}", file=sys.stderr)
        return 69
    # Ended from outside, it still stops its server.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    place = tempfile.mkdtemp(prefix="mirror-cost-")
    tools = None
    try:
        tools = Tools(arguments.mirror, place, max(way.many for way in ways))
        if arguments.check:
            return check(tools, ways, arguments.at)
        rows = []
        for way in ways:
            runs = [per_item(way, tools, "mirror", n) for n in range(arguments.runs)]
            rows.append(row(way, {"mirror": runs, "floor": per_item(way, tools, "floor", 0)}))
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
        text = table(rows, arguments.runs)
        print(text)
        if arguments.page:
            write(arguments.at, text)
    finally:
        if tools:
            tools.origin.stop()
        shutil.rmtree(place, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
