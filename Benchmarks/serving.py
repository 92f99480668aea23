"""What `mirror serve` sends in a time, beside nginx: one client, the same files, two servers."""

import hashlib
import json
import os
import shutil
import signal
import subprocess

from measure import Command
from workload import MIB, Workload, digest, make_file


class Served(Workload):
    """Files that nginx and mirror serve from one tree, and a client that wants them."""

    named = ("nginx",)
    server = None

    def prepare(self):
        self.remarks += [
            "Each row is of the client, named by its server. Both send one tree from the page cache.",
            "nginx has one worker process, sendfile, and no open_file_cache: mirror opens files too.",
        ]
        self.files = [(name, size, make_file(f"{self.tree}/Caches/{name}", size))
                      for name, size in self.sizes()]
        self.take_in()
        os.symlink(self.tree, os.path.join(self.bench.origin.www, self.folder))
        self.server, mine = self.serve()
        addresses = {
            "mirror": mine, "nginx": f"{self.bench.origin.url('uncached')}/{self.folder}/"}
        self.notes_of = {tool: self.bytes_of(address) for tool, address in addresses.items()}
        return [Command(tool, self.client(tool, address + "Caches/"), is_peer=tool != "mirror")
                for tool, address in addresses.items()]

    @property
    def folder(self):
        return f"served-{self.files_word}"

    @property
    def tree(self):
        return os.path.join(self.bench.place, self.folder)

    def take_in(self):
        """Lets mirror take the files in by their digests; nothing is asked for."""
        manifest = os.path.join(self.scratch, self.folder + ".json")
        with open(manifest, "w") as file:
            json.dump({"name": "served", "base": "http://127.0.0.1:9/", "resources": [
                {"path": "Caches/" + name, "url": name, "size": size, "sha256": sha256}
                for name, size, sha256 in self.files]}, file)
        subprocess.run(
            [self.bench.mirror, "sync", manifest, "--root", self.tree, "-q", "--offline"],
            check=True)

    def serve(self):
        server = subprocess.Popen(
            [self.bench.mirror, "serve", "--root", self.tree, "--listen", "127.0.0.1:0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        return server, server.stdout.readline().strip()

    def bytes_of(self, address):
        """None if a server sends the bytes of the first and the last file, else what is wrong."""
        for name, _, sha256 in (self.files[0], self.files[-1]):
            got = subprocess.run(
                ["curl", "-sf", f"{address}Caches/{name}"], stdout=subprocess.PIPE, check=False)
            if hashlib.sha256(got.stdout).hexdigest() != sha256:
                return f"{name} has wrong bytes"
        return None

    def before(self, command):
        os.makedirs(self.target, exist_ok=True)

    def flaw(self, command):
        return self.notes_of[command.tool]

    def end(self):
        if self.server:
            self.server.send_signal(signal.SIGTERM)
            self.server.wait()
            self.server = None
        shutil.rmtree(self.tree, ignore_errors=True)


def rate_by_nginx(results):
    """mirror's rate by nginx's: over 1, mirror is faster."""
    return results["nginx"].wall / results["mirror"].wall


class W15a(Served):
    name = "W15a"
    title = "one 4 GiB file of `mirror serve`, by curl"
    files_word = "large"
    goals = (("x nginx's rate", rate_by_nginx, 0.8, ">="),)

    def sizes(self):
        return [("large.bin", self.bench.scaled(4096, 256) * MIB)]

    def bytes_of(self, address):
        path = os.path.join(self.scratch, "large.got")
        subprocess.run(["curl", "-sf", "-o", path, f"{address}Caches/large.bin"], check=False)
        is_right = os.path.exists(path) and digest(path) == self.files[0][2]
        if os.path.exists(path):
            os.remove(path)
        return None if is_right else "wrong bytes"

    def client(self, tool, address):
        return ["curl", "-sf", "-o", "/dev/null", address + "large.bin"]


class W15b(Served):
    name = "W15b"
    title = "20,000 files of `mirror serve`, by h2load"
    files_word = "small"
    goals = (("x nginx's rate", rate_by_nginx, 0.5, ">="),)

    def sizes(self):
        count = self.bench.scaled(20_000, 2_000)
        return [(f"{n // 500:03d}/{n:05d}.bin", 4096) for n in range(count)]

    def client(self, tool, address):
        uris = os.path.join(self.scratch, f"{tool}.uris")
        with open(uris, "w") as file:
            file.writelines(f"{address}{name}\n" for name, _, _ in self.files)
        # Its exit code is 0 whatever the answers are: grep looks.
        count = len(self.files)
        load = f"h2load --h1 -t 1 -c 50 -n {count} -i '{uris}'"
        return ["sh", "-c", f"{load} | grep -q 'status codes: {count} 2xx'"]
