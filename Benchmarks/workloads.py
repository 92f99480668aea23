"""What is measured. Each workload makes its files once, and a fresh target for each run."""

import hashlib
import os
import subprocess

from distant import W13, W14
from measure import Command
from serving import W15a, W15b
from workload import MIB, Workload, against, against_best, anyone, peak_mib, verifying


class OneLargeFile(Workload):
    manner = "plain"

    def prepare(self):
        size = self.bench.scaled(4 << 30, 256 * MIB)
        self.files = [self.bench.shared_file("large.bin", size)]
        p = self.peers(self.manner)
        return self.only_installed([
            p.mirror(), p.curl(), p.curl_then_sha256sum(), p.aria2c(verifies=True), p.aria2c(),
            p.wget2(), p.lftp()])


class W1(OneLargeFile):
    name = "W1"
    named = ("curl",)
    title = "one 4 GiB file, HTTP/1.1"
    goals = (
        ("x the best that verifies", against_best(verifying), 1.5, ">="),
        ("x curl, which verifies nothing",
         against("curl"), 0.9, ">="),
        ("MiB at most", peak_mib, 48, "<="),
    )


class W2(OneLargeFile):
    name = "W2"
    named = W1.named
    title = "one 4 GiB file, TLS 1.3"
    manner = "tls"
    goals = W1.goals[:2]


class ManySmallFiles(Workload):
    manner = "plain"
    # As the others have theirs: how many at once serves mirror best.
    at_once = ()
    wants_own_file_system = True
    # How many the floor has under way.
    connections = 32

    def prepare(self):
        count = self.bench.scaled(20_000, 2_000)
        self.files = self.bench.shared_folder("small", count, 4096)
        p = self.peers(self.manner)
        return self.only_installed([
            p.mirror(self.at_once), p.floor(self.bench.floor(), "fetch", self.connections),
            p.curl(), p.aria2c(), p.wget2(), p.rclone("small"), p.lftp("small")])


class W3(ManySmallFiles):
    name = "W3"
    named = ("curl",)
    title = "20,000 files of 4 KiB, HTTP/1.1"
    goals = (
        ("x curl, which verifies nothing", against("curl"), 0.9, ">="),
        ("MiB at most", peak_mib, 64, "<="),
    )


class W4(ManySmallFiles):
    name = "W4"
    title = "20,000 files of 4 KiB, HTTP/2, TLS"
    manner = "tls"
    at_once = ("--jobs", "64", "--per-host", "64")
    connections = 64
    goals = (("x the best peer", against_best(anyone), 1.0, ">="),)


class W5(Workload):
    name = "W5"
    named = ("curl",)
    title = "200 files of 10 MiB, HTTP/1.1"
    goals = (
        ("x curl's and the digest's processor time, at most",
         lambda r: r["mirror"].cpu / (r["curl"].cpu + r["openssl, digests alone"].cpu),
         1.15, "<="),
        ("x the best that verifies", against_best(verifying), 1.5, ">="),
    )

    def prepare(self):
        count = self.bench.scaled(200, 20)
        self.files = self.bench.shared_folder("medium", count, 10 * MIB)
        p = self.peers("plain")
        return self.only_installed([
            p.mirror(), p.curl(), p.curl_then_sha256sum(), p.aria2c(verifies=True), p.aria2c(),
            p.wget2(), p.rclone("medium"), p.lftp("medium"),
            p.openssl(self.bench.origin.www)])

    def flaw(self, command):
        return None if command.tool.startswith("openssl") else super().flaw(command)


class NothingChanged(Workload):
    """Pinned entries that are all there; beside it a C program that looks at each file, once."""

    starts_fresh = False
    count = 0
    base = "http://127.0.0.1:9/maps/"

    def names(self, count):
        """Paths in the manifest's order."""
        return [f"{n // 1000:04d}/tile-{n:07d}.bin" for n in range(count)]

    def prepare(self):
        self.files = []
        count = self.bench.scaled(self.count, self.count // 20)
        tree = os.path.join(self.target, "Caches")
        manifest = os.path.join(self.scratch, "manifest.json")
        with open(manifest, "w") as file:
            file.write('{"version":1,"name":"bench","base":"%s","resources":[' % self.base)
            for number, name in enumerate(self.names(count)):
                os.makedirs(os.path.dirname(f"{tree}/{name}"), exist_ok=True)
                content = b"tile %d\n" % number
                with open(f"{tree}/{name}", "wb") as tile:
                    tile.write(content)
                sha256 = hashlib.sha256(content).hexdigest()
                file.write("," if number else "")
                file.write(f'\n{{"path":"Caches/{name}","url":"{name}",'
                           f'"size":{len(content)},"sha256":"{sha256}"}}')
            file.write("\n]}\n")
        sync = [self.bench.mirror, "sync", manifest, "--root", self.target, "-q"]
        # The first run takes the files in by their digests; nothing is asked for.
        subprocess.run(sync, check=True)
        looker = self.bench.compiled("stat_all")
        return [Command("mirror", sync, verifies=True, is_peer=False),
                Command("stat loop", [looker, tree], is_peer=False)]

    def flaw(self, command):
        return None


class W6a(NothingChanged):
    name = "W6a"
    title = "100,000 pinned files, none changed"
    count = 100_000


class W6b(NothingChanged):
    name = "W6b"
    title = "1,000,000 pinned files, none changed"
    count = 1_000_000
    goals = (
        ("x the time of the stat loop, at most",
         lambda r: r["mirror"].wall / r["stat loop"].wall, 2.0, "<="),
        ("MiB at most", peak_mib, 192, "<="),
    )


class Interleaved(NothingChanged):
    """Each entry in another folder than the one before it."""

    count = 100_000
    goals = (
        ("x the time of the stat loop, at most",
         lambda r: r["mirror"].wall / r["stat loop"].wall, 2.0, "<="),
    )

    def names(self, count):
        return [f"{n % 300:04d}/tile-{n:07d}.bin" for n in range(count)]


class W6c(Interleaved):
    name = "W6c"
    title = "the same, in 300 folders by turns"


class W6d(Interleaved):
    name = "W6d"
    title = "the same with `file:` sources"
    base = "file:///nonexistent/maps/"


class W7(Workload):
    name = "W7"
    named = ("wget2",)
    title = "20,000 files asked about: all 304"
    goals = (("x the time of the floor, at most",
              lambda r: r["mirror"].wall / r["floor"].wall, 1.6, "<="),)
    starts_fresh = False

    def prepare(self):
        count = self.bench.scaled(20_000, 2_000)
        self.files = self.bench.shared_folder("small", count, 4096)
        commands = []
        for tool in ("mirror", "floor", "wget2", "wget", "aria2c", "rclone"):
            # A tree for each: all are filled by the tool itself, before the first run counts.
            self.target = os.path.join(self.bench.place, "target", self.name, tool)
            os.makedirs(self.target, exist_ok=True)
            p = self.peers("logged")
            if tool == "mirror":
                unpinned = p.manifest(pinned=False, refresh="always")
                commands.append(p.mirror(("--jobs", "32", "--per-host", "32"), unpinned))
            elif tool == "floor":
                self.bench.run_uncounted(p.floor(self.bench.floor(), "fetch", 32))
                commands.append(p.floor(self.bench.floor(), "ask", 32))
            elif tool == "aria2c":
                commands.append(p.aria2c(
                    options=["--conditional-get=true", "--allow-overwrite=true"]))
            elif tool == "rclone":
                commands.append(p.rclone("small"))
            else:
                commands.append(getattr(p, tool)(options=["-N"]))
        commands = self.only_installed(commands)
        for command in commands:
            self.bench.run_uncounted(command)
        self.bench.origin.requests()
        return commands

    def before(self, command):
        self.bench.origin.requests()

    def flaw(self, command):
        return self.unasked()


class W8(Workload):
    name = "W8"
    named = ("aria2c",)
    title = "one 256 MiB file, 5 MB/s a connection"
    goals = (
        ("x aria2c with as many connections",
         against("aria2c"), 1.0, ">="),
        ("of the bytes sent more than once, at most",
         lambda r: r["mirror"].notes.get("excess"), 0.05, "<="),
    )

    def prepare(self):
        size = self.bench.scaled(256 * MIB, 64 * MIB)
        self.files = [self.bench.shared_file("limited.bin", size)]
        p = self.peers("slow")
        return self.only_installed([
            p.mirror(options=["--segments", "16", "--per-host", "16"]),
            p.aria2c(connections=16), p.lftp(pieces=16)])

    def before(self, command):
        super().before(command)
        self.bench.origin.requests()

    def notes(self, command):
        sent = sum(int(line.split()[3]) for line in self.bench.origin.requests())
        return {"excess": max(0.0, sent / self.files[0][1] - 1)}


class W9a(Workload):
    name = "W9a"
    title = "start-up: --version"
    goals = (("ms at most", lambda r: r["mirror"].wall * 1000, 15, "<="),)
    repeats = 50
    files = ()

    def prepare(self):
        commands = [Command("mirror", [self.bench.mirror, "--version"], is_peer=False)]
        if "curl" in self.bench.installed:
            commands.append(Command("curl", ["curl", "--version"]))
        return commands


class W9b(Workload):
    name = "W9b"
    title = "start-up: a sync with nothing to do"
    goals = (("ms at most", lambda r: r["mirror"].wall * 1000, 30, "<="),)
    starts_fresh = False
    repeats = 50

    def prepare(self):
        self.files = self.bench.shared_folder("small", self.bench.scaled(20_000, 2_000), 4096)[:1]
        os.makedirs(self.target, exist_ok=True)
        command = self.peers("plain").mirror()
        self.bench.run_uncounted(command)
        return [command]


WORKLOADS = [W1, W2, W3, W4, W5, W6a, W6b, W6c, W6d, W7, W8, W9a, W9b, W13, W14, W15a, W15b]
