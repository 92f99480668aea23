"""The nginx that every tool is served by: loopback only, one folder, several manners."""

import os
import resource
import shutil
import signal
import socket
import subprocess
import time

CONFIGURATION = """
worker_processes 1;
daemon off;
pid {place}/nginx.pid;
error_log {place}/error.log;
events {{ worker_connections 4096; }}
http {{
    log_format line '$request_method $uri $status $bytes_sent';
    access_log off;
    client_body_temp_path {place}/client; proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi; uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 10000000;
    autoindex on;
    root {place}/www;
    open_file_cache {cache};
    server {{ listen 127.0.0.1:{plain} backlog=4096; }}
    server {{
        listen 127.0.0.1:{tls} ssl http2 backlog=4096;
        ssl_certificate {place}/certificate.pem;
        ssl_certificate_key {place}/key.pem;
        ssl_protocols TLSv1.3;
        http2_max_concurrent_streams 128;
    }}
    server {{ listen 127.0.0.1:{logged} backlog=4096; access_log {place}/access.log line; }}
    server {{
        listen 127.0.0.1:{tls_logged} ssl http2 backlog=4096;
        ssl_certificate {place}/certificate.pem;
        ssl_certificate_key {place}/key.pem;
        ssl_protocols TLSv1.3;
        http2_max_concurrent_streams 128;
        access_log {place}/access.log line;
    }}
    server {{ listen 127.0.0.1:{uncached} backlog=4096; open_file_cache off; }}
    server {{
        listen 127.0.0.1:{slow} backlog=4096;
        limit_rate 5000000;
        access_log {place}/access.log line;
    }}
}}
"""


def file_cache():
    """nginx keeps every file open where the system allows it so many; each refused one would be an
    answer 500."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = 200_000 if most == resource.RLIM_INFINITY else min(200_000, most - 8192)
    return f"max={room} inactive=600s" if room >= 25_000 else "off"


def open_many_files():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Origin:
    """A server over `www`; its addresses are `url("plain")`, `"tls"`, `"logged"` and so on.

    `slow` limits each connection to 5,000,000 bytes a second; it, `logged` and `tls_logged` note
    requests. `uncached` opens a file for each request.
    """

    def __init__(self, place):
        self.place = place
        self.www = os.path.join(place, "www")
        os.makedirs(self.www)
        self.certificate = os.path.join(place, "certificate.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", os.path.join(place, "key.pem"),
             "-out", self.certificate],
            check=True, capture_output=True)
        self.ports = {
            name: free_port()
            for name in ("plain", "uncached", "tls", "logged", "tls_logged", "slow")}
        configuration = os.path.join(place, "nginx.conf")
        with open(configuration, "w") as file:
            file.write(CONFIGURATION.format(place=place, cache=file_cache(), **self.ports))
        # Workers that run as another user could not read a folder that is this user's alone.
        user = ["-g", "user root;"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            [shutil.which("nginx") or "/usr/sbin/nginx", "-p", place, "-c", configuration] + user,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=open_many_files)
        wait_for(self.ports["plain"])

    def url(self, manner):
        return address(manner, self.ports[manner])

    def requests(self):
        """The requests noted since the last call, a line each."""
        path = os.path.join(self.place, "access.log")
        # nginx writes a line after the answer; the last ones may still be on their way.
        time.sleep(0.3)
        with open(path) as file:
            lines = file.read().splitlines()
        os.truncate(path, 0)
        return lines

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def address(manner, port):
    """The address of a manner of serving, at its own port or where a line leads to it."""
    return f"{'https' if manner.startswith('tls') else 'http'}://127.0.0.1:{port}"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("nginx did not start; is it installed?")
