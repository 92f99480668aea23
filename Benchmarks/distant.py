"""Workloads over lines that are not loopback: many small files, and one large one."""

import os
import subprocess
import sys

from measure import Command
from origin import address, free_port, wait_for
from peers import Peers
from workload import MIB, Workload, against_best, anyone

HERE = os.path.dirname(os.path.abspath(__file__))
FIXED = (16, 64)
# How many the floor has under way: as many connections as mirror opens at most, or streams.
FLOOR = {"HTTP/1.1": 64, "HTTP/2": 100}


class Distance:
    """line.py in front of one manner of the origin; its port stays while its length changes."""

    def __init__(self, origin, manner):
        self.target = origin.ports[manner]
        self.port = free_port()
        self.address = address(manner, self.port)
        self.process = None

    def set(self, rtt, **limits):
        """`rtt` in milliseconds; `rate` in bytes a second and `window` in bytes."""
        self.end()
        words = [sys.executable, os.path.join(HERE, "line.py"), "--listen", str(self.port),
                 "--target", str(self.target), "--rtt", str(rtt)]
        for name, value in limits.items():
            words += [f"--{name}", str(value)]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
        wait_for(self.port)

    def end(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None


class DistantCase(Workload):
    """One case of a workload: a line, a way over it, and what is asked of mirror there."""

    def __init__(self, bench, title, manner):
        super().__init__(bench)
        self.title = title
        self.line = Distance(bench.origin, manner)
        self.manner = manner

    def over_line(self):
        return Peers(self.bench.mirror, self.line.address, self.files, self.target, self.scratch,
                     self.bench.origin.certificate, jobs=None)

    def end(self):
        self.line.end()


def by_best_peer(results):
    """mirror's wall time by the best peer's: under 1, mirror is faster."""
    ratio = against_best(anyone)(results)
    return 1 / ratio if ratio else None


def floor_by_best_peer(results):
    """The floor's wall time by the best peer's: where it misses an aim, so must mirror."""
    ratio = by_best_peer(results)
    return ratio and results["floor"].wall / results["mirror"].wall * ratio


def by_own_best(results):
    """mirror's wall time by that of its own best fixed number."""
    fixed = [r.wall for r in results.values() if r.tool.startswith("mirror ") and not r.flaws]
    return results["mirror"].wall / min(fixed) if fixed else None


def fixed(command, number, options):
    """mirror as told how many at once, which a user should not have to."""
    return Command(
        f"mirror {number}", command.words + list(options), verifies=True, is_peer=False)


class SmallFilesFarAway(DistantCase):
    """Five hundred files of 4 KiB; each tool as it comes.

    aria2c and rclone are left out: over such lines they are never near the best peer, and would
    take most of the time.
    """

    name = "W13"
    goals = (
        ("by the best peer", by_best_peer, 1.0, "<="),
        ("by its own best", by_own_best, 1.2, "<="),
        ("floor by best peer", floor_by_best_peer, 1.2, "<="),
    )

    def __init__(self, bench, rtt, protocol, asks):
        manner = "tls_logged" if protocol == "HTTP/2" else "logged"
        way = "304s" if asks else "fetched"
        super().__init__(bench, f"RTT {rtt} ms, {protocol}, {way}", manner)
        self.manner_title = f"{protocol}, {way}"
        self.rtt = rtt
        self.protocol = protocol
        self.asks = asks
        self.starts_fresh = not asks

    def prepare(self):
        self.files = self.bench.shared_folder("far", 500, 4096)
        commands = self.asking() if self.asks else self.fetching()
        self.line.set(self.rtt)
        return commands

    def fetching(self):
        p = self.over_line()
        return self.only_installed(
            with_fixed(p.mirror()) + [self.floor(p, "fetch"), p.curl(), p.wget2()])

    def floor(self, p, verb):
        return p.floor(self.bench.floor(), verb, FLOOR[self.protocol])

    def asking(self):
        """Each tool has its own tree, which it filled before over a line of no length."""
        trees = self.target
        fill, commands = [], []
        for tool in ("mirror", "floor", "curl", "wget2"):
            self.target = os.path.join(trees, self.title, tool)
            os.makedirs(self.target)
            # Lists and settings of one tool must not be those of another's tree.
            self.scratch = os.path.join(self.bench.place, "scratch", self.name, tool)
            os.makedirs(self.scratch, exist_ok=True)
            p = self.over_line()
            if tool == "mirror":
                command = p.mirror(manifest=p.manifest(pinned=False, refresh="always"))
                fill.append(command)
                commands += with_fixed(command)
            elif tool == "floor":
                fill.append(self.floor(p, "fetch"))
                commands.append(self.floor(p, "ask"))
            elif tool == "curl":
                fill.append(p.curl(keeps_times=True))
                commands.append(p.curl(asks=True))
            else:
                fill.append(p.wget2(options=["-N"]))
                commands.append(fill[-1])
        self.target = trees
        self.line.set(0)
        for command in self.only_installed(fill):
            self.bench.run_uncounted(command)
        return self.only_installed(commands)

    def before(self, command):
        super().before(command)
        if self.asks:
            self.bench.origin.requests()

    def flaw(self, command):
        return self.unasked() if self.asks else super().flaw(command)


def with_fixed(command):
    return [command] + [
        fixed(command, n, ("--jobs", str(n), "--per-host", str(n))) for n in FIXED]


class LargeFileFarAway(DistantCase):
    """One file over a line that one connection cannot fill."""

    name = "W14"
    named = ("aria2c",)
    goals = (
        ("mirror by aria2c", lambda r: r["mirror"].wall / r["aria2c"].wall, 1.15, "<="),
        ("mirror by its own best", by_own_best, 1.15, "<="),
    )

    def __init__(self, bench, size):
        super().__init__(bench, f"{size} MiB, RTT 100 ms, 60 MB/s", "plain")
        self.size = size

    def prepare(self):
        self.files = [self.bench.shared_file(f"far-{self.size}.bin", self.size * MIB)]
        # 20 MB/s for a connection: a window of 2 MB in each round trip of 100 ms.
        self.line.set(100, rate=60e6, window=2e6)
        p = self.over_line()
        mirror = p.mirror()
        return self.only_installed([
            mirror, fixed(mirror, 16, ("--segments", "16", "--per-host", "16")),
            p.aria2c(connections=16)])


class Family:
    """A workload of several cases."""

    def __init__(self, bench):
        self.bench = bench
        self.remarks = []


class W13(Family):
    name = "W13"
    title = "500 files of 4 KiB over a line with a round trip, each tool as it comes"

    def cases(self):
        self.remarks = [
            "A number beside the name is that of `--jobs` and `--per-host`.",
            "The floor has 64 connections, or 100 streams, from the start. It is no peer: it checks "
            "nothing."]
        trips = self.bench.scaled((1, 20, 100, 300), (20, 100))
        return [SmallFilesFarAway(self.bench, rtt, protocol, asks)
                for asks in (False, True) for protocol in ("HTTP/1.1", "HTTP/2") for rtt in trips]


class W14(Family):
    name = "W14"
    title = "one file, RTT 100 ms, a line of 60 MB/s of which a connection gets 20"

    def cases(self):
        self.remarks = ["The 16 beside the name is that of `--segments` and `--per-host`. "
                        "aria2c runs with `-x16 -s16 -k1M`."]
        if "aria2c" not in self.bench.installed:
            self.remarks.append("aria2c is not installed here: the aim that names it is left out.")
        return [LargeFileFarAway(self.bench, size) for size in self.bench.scaled((64, 256), (64,))]
