internal import CTestSupport
internal import Glibc

/// One address at which some connections speak HTTP/2 and others HTTP/1.1: a haproxy that leads one
/// connection after another to two servers of an nginx, as during an upgrade of a fleet.
public final class MixedFront {
    /// Where Debian puts the programs.
    public static let programs = ["/usr/sbin/nginx", "/usr/sbin/haproxy"]
    /// Whether they are here.
    public static var isPossible: Bool { programs.allSatisfy { access($0, X_OK) == 0 } }

    /// What both servers serve.
    public let folder: Folder
    /// The certificate that both show, to be trusted: a PEM file's path.
    public let certificate: String
    private let place: Folder
    private let nginx: Command
    private let servers: (http2: UInt16, http1: UInt16)
    private let port: UInt16
    private var balancer: Command?

    /// Starts the servers.
    ///
    /// - Parameter requests: how many requests nginx answers over one connection, the more of them
    ///   being made the fewer that is.
    public init(requests: Int) throws {
        place = try Folder.temporary(in: Folder.memory)
        try place.makeFolders(above: "www/.")
        folder = Folder(place.full("www"))
        certificate = place.full("certificate.pem")
        guard let http2 = LoopbackPort.free(), let http1 = LoopbackPort.free(),
            let port = LoopbackPort.free()
        else { throw SystemFailure("bind", "127.0.0.1", errno: errno) }
        servers = (http2, http1)
        self.port = port
        try place.makeCertificate()
        func server(_ words: String) -> String {
            """
                server {
                    listen 127.0.0.1:\(words);
                    ssl_certificate certificate.pem;
                    ssl_certificate_key key.pem;
                }
            """
        }
        let configuration = """
            daemon off;
            master_process off;
            pid nginx.pid;
            events { worker_connections 1024; }
            http {
                access_log off;
                client_body_temp_path client; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                default_type application/octet-stream;
                keepalive_requests \(requests);
                root \(place.full("www"));
            \(server("\(http2) ssl http2"))
            \(server("\(http1) ssl"))
            }
            """
        try place.write("nginx.conf", Array(configuration.utf8))
        nginx = try Command(
            MixedFront.programs[0], ["-p", place.path, "-c", "nginx.conf", "-e", "error.log"])
        guard LoopbackPort.waitForServer(on: http2), LoopbackPort.waitForServer(on: http1) else {
            nginx.signal(SIGKILL)
            throw SystemFailure("nginx", nginx.wait().errors, errno: ECONNREFUSED)
        }
    }

    /// Where it is, without a slash at the end.
    public var url: String { "https://127.0.0.1:\(port)" }

    /// Starts the balancer again; its first connection speaks HTTP/2, or HTTP/1.1.
    public func balance(firstSpeaksHTTP2: Bool) throws {
        stopBalancer()
        let order =
            firstSpeaksHTTP2 ? [servers.http2, servers.http1] : [servers.http1, servers.http2]
        // A look at whether it is there would take the first turn, so nothing connects to it but its
        // socket for statistics.
        let configuration = """
            global
                stats socket \(place.full("ready.sock"))
            defaults
                mode tcp
                timeout connect 5s
                timeout client 60s
                timeout server 60s
            listen front
                bind 127.0.0.1:\(port)
                balance roundrobin
                server first 127.0.0.1:\(order[0])
                server second 127.0.0.1:\(order[1])
            """
        unlink(place.full("ready.sock"))
        try place.write("haproxy.cfg", Array((configuration + "\n").utf8))
        let balancer = try Command(MixedFront.programs[1], ["-f", place.full("haproxy.cfg")])
        self.balancer = balancer
        for _ in 0..<1000 where access(place.full("ready.sock"), F_OK) != 0 {
            Pause.milliseconds(10)
        }
        guard access(place.full("ready.sock"), F_OK) == 0 else {
            balancer.signal(SIGKILL)
            throw SystemFailure("haproxy", balancer.wait().errors, errno: ECONNREFUSED)
        }
    }

    /// Puts a file there with a modification time long ago, so that its validators are strong.
    public func put(_ name: String, _ bytes: [UInt8], modified: Int = 1_500_000_000) throws {
        try folder.write(name + ".new", bytes)
        let time = timeval(tv_sec: modified, tv_usec: 0)
        var times = (time, time)
        let set = withUnsafeBytes(of: &times) {
            utimes(folder.full(name + ".new"), $0.bindMemory(to: timeval.self).baseAddress)
        }
        guard set == 0, rename(folder.full(name + ".new"), folder.full(name)) == 0 else {
            throw SystemFailure("utimes", name, errno: errno)
        }
    }

    private func stopBalancer() {
        balancer?.signal(SIGKILL)
        _ = balancer?.wait(seconds: 10)
        balancer = nil
    }

    /// Ends the programs and deletes their folder.
    public func stop() {
        stopBalancer()
        nginx.signal(SIGTERM)
        _ = nginx.wait(seconds: 10)
        place.remove()
    }
}
