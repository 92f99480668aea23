"""The ways that an item can go, each with as many items as are asked for, and the command to count.

A way gets a new folder, prepares there what was done before, and gives the command that does
nothing but bring its items along that way; and the floor's, where floor.c has that way.
"""

import os
import subprocess

from cut import CutServer
from peers import Peers


class Way:
    """`few` and `many` items: the difference is what they cost, and starting costs nothing."""

    name = ""
    title = ""
    few, many = 100, 700
    manner = "plain"

    def __init__(self, tools, folder, count, tag):
        self.tools = tools
        self.files = tools.files[:count]
        self.place = os.path.join(folder, tag)
        os.makedirs(self.place)
        self.root = self.folder("root")

    def folder(self, name):
        path = os.path.join(self.place, name)
        os.makedirs(path)
        return path

    def peers(self, files=None, root=None, manner=None):
        origin = self.tools.origin
        return Peers(
            self.tools.mirror, origin.url(manner or self.manner), files or self.files,
            root or self.root, self.place, origin.certificate)

    def before(self, command, statuses=(0,)):
        """Runs what comes before, uncounted."""
        done = subprocess.run(
            command.words, stdin=subprocess.DEVNULL, capture_output=True, cwd=self.place,
            check=False)
        if done.returncode not in statuses:
            raise RuntimeError(f"{self.name}: {command.words} ended with {done.returncode}: "
                               f"{done.stderr.decode()}")

    def mirror(self):
        return self.peers().mirror()

    def floor(self):
        """The floor's command; None where it does not go that way."""
        return None

    def flaw(self):
        """What is wrong with the tree that mirror left; None when every file is there."""
        missing = [name for name, size, _ in self.files
                   if not os.path.isfile(f"{self.root}/Caches/{name}")
                   or os.path.getsize(f"{self.root}/Caches/{name}") != size]
        return f"{len(missing)} files are not there" if missing else None


class Fetched(Way):
    name = "W3"
    title = "fetched, 4 KiB, pinned, HTTP/1.1"
    connections = 16

    def floor(self):
        return self.peers().floor(self.tools.floor, "fetch", self.connections)


class FetchedOverTLS(Fetched):
    name = "W4"
    title = "the same, HTTP/2 over TLS"
    manner = "tls"


class Asked(Way):
    name = "W7"
    title = "asked about, 304, HTTP/1.1"

    def mirror(self):
        p = self.peers()
        command = p.mirror(manifest=p.manifest(pinned=False, refresh="always"))
        self.before(command)
        return command

    def floor(self):
        p = self.peers()
        self.before(p.floor(self.tools.floor, "fetch", 16))
        return p.floor(self.tools.floor, "ask", 16)


class Kept(Way):
    name = "W6"
    title = "kept: nothing changed"
    few, many = 1_000, 9_000

    def mirror(self):
        command = self.peers().mirror()
        self.before(command)
        return command


class Copied(Way):
    name = "copy"
    title = "copied from another file of the tree"

    def mirror(self):
        p = self.peers()
        self.before(p.mirror())
        # The same bytes are wanted at other places, by somebody else, who has them from no server.
        manifest = os.path.join(self.place, "others.json")
        entries = ",\n".join(
            f'{{"path":"Caches/copy/{name}","url":"{name}","size":{size},"sha256":"{sha256}"}}'
            for name, size, sha256 in self.files)
        with open(manifest, "w") as file:
            file.write('{"version":1,"name":"others","base":"http://127.0.0.1:9/","resources":[\n'
                       f"{entries}\n]}}\n")
        return p.mirror(manifest=manifest)

    def floor(self):
        source = self.tools.origin.www
        command = self.peers().floor(self.tools.floor, "copy", 0)
        command.words[2] = source
        command.words.pop()
        return command

    def flaw(self):
        self.files = [(f"copy/{name}", size, sha256) for name, size, sha256 in self.files]
        return super().flaw()


class FromFile(Copied):
    name = "file"
    title = "taken from a `file:` source"

    def mirror(self):
        p = self.peers()
        p.address = "file://" + self.tools.origin.www
        return p.mirror()

    def flaw(self):
        return Way.flaw(self)


class Resumed(Way):
    name = "part"
    title = "resumed: half of 4 KiB was there, HTTP/1.1"

    def mirror(self):
        p = self.peers()
        with CutServer(self.tools.origin.www) as cut:
            p.address = cut.address
            first = p.mirror(("--retries", "0"))
            self.before(first, statuses=(1, 69))
        parts = [name for name in os.listdir(f"{self.root}/tmp") if name.endswith(".part")]
        if len(parts) != len(self.files):
            raise RuntimeError(f"{len(parts)} parts of {len(self.files)} were left")
        return self.peers().mirror()


WAYS = [Fetched, FetchedOverTLS, Asked, Kept, Copied, FromFile, Resumed]
