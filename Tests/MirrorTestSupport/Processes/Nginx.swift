// timeval is of the first module that has it, which is not the same one in every kind of build.
internal import CTestSupport
internal import Glibc

/// The nginx of the system over a folder of its own, on two loopback ports: HTTP/1.1, and TLS with
/// HTTP/2 under a certificate that is thrown away.
public final class Nginx: Sendable {
    /// Where Debian puts it.
    public static let program = "/usr/sbin/nginx"
    /// What it serves.
    public let folder: Folder
    /// The certificate that its TLS server shows, to be trusted: a PEM file's path.
    public let certificate: String
    private let place: Folder
    private let command: Command
    private let ports: (plain: UInt16, tls: UInt16, guarded: UInt16, asking: UInt16)

    /// Starts it and waits until it accepts connections.
    public init() throws {
        place = try Folder.temporary(in: Folder.memory)
        try place.makeFolders(above: "www/.")
        folder = Folder(place.full("www"))
        certificate = place.full("certificate.pem")
        guard let plain = LoopbackPort.free(), let tls = LoopbackPort.free(),
            let guarded = LoopbackPort.free(), let asking = LoopbackPort.free()
        else { throw SystemFailure("bind", "127.0.0.1", errno: errno) }
        ports = (plain, tls, guarded, asking)
        try place.makeCertificate()
        try place.write("nginx.conf", Array(Nginx.configuration(place, ports).utf8))
        command = try Command(
            Nginx.program, ["-p", place.path, "-c", "nginx.conf", "-e", "error.log"])
        guard LoopbackPort.waitForServer(on: plain), LoopbackPort.waitForServer(on: tls),
            LoopbackPort.waitForServer(on: guarded), LoopbackPort.waitForServer(on: asking)
        else {
            command.signal(SIGKILL)
            throw SystemFailure("nginx", command.wait().errors, errno: ECONNREFUSED)
        }
    }

    /// Where a scheme is served, without a slash at the end.
    public func url(_ scheme: String) -> String {
        scheme == "https" ? "https://127.0.0.1:\(ports.tls)" : "http://127.0.0.1:\(ports.plain)"
    }

    /// A cache of what `url("http")` serves, whose slices are fetched once.
    public var cache: String { url("http") + "/site" }
    /// A server that wants a client certificate. It trusts `certificate`.
    public var guarded: String { "https://127.0.0.1:\(ports.guarded)" }
    /// A server that asks for a client certificate and goes on without one.
    public var asking: String { "https://127.0.0.1:\(ports.asking)" }
    /// The key of `certificate`: a PEM file's path.
    public var key: String { place.full("key.pem") }

    /// A line for each request to `guarded` and `asking`: the URL, and SUCCESS, FAILED or NONE.
    public func certificates(atLeast count: Int) -> [String] { lines(of: "client.log", count) }

    /// Puts a file there with a modification time long ago, so that its validators are strong.
    public func put(_ name: String, _ bytes: [UInt8], modified: Int = 1_500_000_000) throws {
        // Written beside and renamed: nginx must not see half a file.
        try folder.write(name + ".new", bytes)
        var times = (
            timeval(tv_sec: modified, tv_usec: 0), timeval(tv_sec: modified, tv_usec: 0)
        )
        let set = withUnsafeBytes(of: &times) {
            utimes(folder.full(name + ".new"), $0.bindMemory(to: timeval.self).baseAddress)
        }
        guard set == 0, rename(folder.full(name + ".new"), folder.full(name)) == 0 else {
            throw SystemFailure("utimes", name, errno: errno)
        }
    }

    /// A line a request that was answered: protocol, method, path, range, status.
    ///
    /// nginx writes a line when the answer has gone, and its client may be the quicker one: so this
    /// waits a while for as many as have to come.
    public func requests(atLeast count: Int = 0) -> [String] { lines(of: "access.log", count) }

    private func lines(of log: String, _ count: Int) -> [String] {
        var lines: [String] = []
        for _ in 0..<1000 {
            lines = String(decoding: place.read(log) ?? [], as: UTF8.self)
                .split(separator: "\n").map(String.init)
            if lines.count >= count { break }
            Pause.milliseconds(10)
        }
        return lines
    }

    /// Ends it and deletes its folder.
    public func stop() {
        command.signal(SIGTERM)
        _ = command.wait(seconds: 10)
        place.remove()
    }

    private static func configuration(
        _ place: Folder, _ ports: (plain: UInt16, tls: UInt16, guarded: UInt16, asking: UInt16)
    ) -> String {
        """
        daemon off;
        master_process off;
        pid nginx.pid;
        events { worker_connections 512; }
        http {
            log_format line '$server_protocol $request_method $uri $http_range $status';
            log_format client '$scheme://$http_host$uri $ssl_client_verify';
            access_log access.log line;
            client_body_temp_path client; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            default_type application/octet-stream;
            keepalive_requests 100000;
            proxy_cache_path site levels=1:2 keys_zone=site:1m use_temp_path=off;
            root \(place.full("www"));
            server {
                listen 127.0.0.1:\(ports.plain);
                location /slow/ { limit_rate 2m; }
                location /cas/ {
                    dav_methods PUT;
                    create_full_put_path on;
                    client_max_body_size 0;
                }
                location /site/ {
                    proxy_pass http://127.0.0.1:\(ports.plain)/;
                    proxy_http_version 1.1;
                    proxy_set_header Connection "";
                    slice 256k;
                    proxy_set_header Range $slice_range;
                    proxy_cache site;
                    proxy_cache_key $uri$slice_range;
                    proxy_cache_valid 200 206 1h;
                    proxy_cache_lock on;
                    proxy_cache_lock_timeout 1h;
                    proxy_cache_lock_age 1h;
                }
            }
            server {
                listen 127.0.0.1:\(ports.tls) ssl http2;
                ssl_certificate certificate.pem;
                ssl_certificate_key key.pem;
                location /slow/ { limit_rate 2m; }
                location /down/ { return 302 http://127.0.0.1:\(ports.plain)/a.bin; }
            }
            server {
                listen 127.0.0.1:\(ports.guarded) ssl http2;
                ssl_certificate certificate.pem;
                ssl_certificate_key key.pem;
                ssl_client_certificate certificate.pem;
                ssl_verify_client on;
                access_log client.log client;
                location /away/ { return 302 https://127.0.0.1:\(ports.asking)/a.bin; }
                location /gone/ { return 503; }
            }
            server {
                listen 127.0.0.1:\(ports.asking) ssl http2;
                ssl_certificate certificate.pem;
                ssl_certificate_key key.pem;
                ssl_client_certificate certificate.pem;
                ssl_verify_client optional;
                access_log client.log client;
                location /back/ { return 302 https://127.0.0.1:\(ports.guarded)/a.bin; }
            }
        }
        """
    }
}
