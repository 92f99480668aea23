internal import Glibc
internal import MirrorTestSupport

/// A server program of the system, as data: how it is told what to serve and where.
struct RealServer: Sendable {
    let name: String
    let program: String
    /// The configuration's file name, and the words that start it in the foreground.
    let file: String
    let arguments: @Sendable (_ place: Folder) -> [String]
    /// The configuration for a place whose `www` is served on a port of 127.0.0.1; `/moved/x` leads
    /// to `/x`. A proxy serves nothing itself.
    let configuration: @Sendable (_ place: Folder, _ port: UInt16) -> String
    /// Words of the environment besides the usual.
    var environment: @Sendable (_ place: Folder) -> [String: String] = { _ in [:] }
    /// Whether it is a proxy in front of an nginx.
    var isProxy = false

    var isInstalled: Bool { access(program, X_OK) == 0 }

    static let all = [nginx, apache, lighttpd, caddy, squid]

    static let nginx = RealServer(
        name: "nginx", program: "/usr/sbin/nginx", file: "nginx.conf",
        arguments: { ["-p", $0.path, "-c", "nginx.conf", "-e", "error.log"] },
        configuration: { place, port in
            """
            daemon off;
            master_process off;
            pid nginx.pid;
            events { worker_connections 512; }
            http {
                access_log off;
                client_body_temp_path client; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                default_type application/octet-stream;
                gzip on; gzip_types *;
                server {
                    listen 127.0.0.1:\(port);
                    root \(place.full("www"));
                    rewrite ^/moved/(.*)$ /$1 redirect;
                }
            }
            """
        })

    static let apache = RealServer(
        name: "Apache", program: "/usr/sbin/apache2", file: "apache.conf",
        arguments: { ["-X", "-d", $0.path, "-f", $0.full("apache.conf")] },
        configuration: { place, port in
            let modules = ["mpm_event", "authz_core", "mime", "alias", "deflate", "filter", "dir"]
                .map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }
            return """
                \(modules.joined(separator: "\n"))
                ServerName 127.0.0.1
                Listen 127.0.0.1:\(port)
                PidFile \(place.full("apache.pid"))
                ErrorLog \(place.full("error.log"))
                TypesConfig /dev/null
                DefaultRuntimeDir \(place.path)
                DocumentRoot \(place.full("www"))
                SetOutputFilter DEFLATE
                Redirect 302 /moved/ http://127.0.0.1:\(port)/
                <Directory \(place.full("www"))>
                    Require all granted
                </Directory>
                """
        })

    static let lighttpd = RealServer(
        name: "lighttpd", program: "/usr/sbin/lighttpd", file: "lighttpd.conf",
        arguments: { ["-D", "-f", $0.full("lighttpd.conf")] },
        configuration: { place, port in
            """
            server.modules = ("mod_redirect")
            server.bind = "127.0.0.1"
            server.stat-cache-engine = "disable"
            server.port = \(port)
            server.document-root = "\(place.full("www"))"
            server.errorlog = "\(place.full("error.log"))"
            url.redirect = ("^/moved/(.*)$" => "/$1")
            url.redirect-code = 302
            mimetype.assign = ("" => "application/octet-stream")
            """
        })

    static let caddy = RealServer(
        name: "caddy", program: "/usr/bin/caddy", file: "Caddyfile",
        arguments: { ["run", "--config", $0.full("Caddyfile"), "--adapter", "caddyfile"] },
        configuration: { place, port in
            """
            {
                admin off
                auto_https off
                storage file_system \(place.full("storage"))
            }
            http://127.0.0.1:\(port) {
                bind 127.0.0.1
                root * \(place.full("www"))
                encode gzip
                @moved path_regexp moved ^/moved/(.*)$
                redir @moved /{re.moved.1} 302
                file_server
            }
            """
        },
        environment: { ["XDG_DATA_HOME": $0.path, "XDG_CONFIG_HOME": $0.path] })

    static let squid = RealServer(
        name: "squid", program: "/usr/sbin/squid", file: "squid.conf",
        arguments: { ["-N", "-f", $0.full("squid.conf")] },
        configuration: { place, port in
            """
            http_port 127.0.0.1:\(port)
            http_access allow all
            pid_filename \(place.full("squid.pid"))
            access_log none
            cache_log \(place.full("cache.log"))
            cache_store_log none
            coredump_dir \(place.path)
            netdb_filename none
            pinger_enable off
            cache_mem 64 MB
            maximum_object_size_in_memory 16 MB
            refresh_pattern . 0 0% 0
            shutdown_lifetime 0 seconds
            visible_hostname proxy.example
            """
        }, isProxy: true)
}

/// A server program that runs over a folder of its own, and is ended by its process id.
final class RunningServer: Sendable {
    /// What it serves, where it serves anything itself.
    let www: Folder
    let port: UInt16
    private let place: Folder
    private let command: Command

    /// Starts it and waits until it accepts connections.
    init(_ server: RealServer) throws {
        place = try Folder.temporary(in: Folder.memory)
        try place.makeFolders(above: "www/.")
        www = Folder(place.full("www"))
        // Some drop root for a user of their own.
        chmod(place.path, 0o777)
        guard let port = LoopbackPort.free() else {
            throw SystemFailure("bind", "127.0.0.1", errno: errno)
        }
        self.port = port
        try place.write(server.file, Array(server.configuration(place, port).utf8))
        let environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": place.path]
            .merging(server.environment(place)) { $1 }
        command = try Command(
            server.program, server.arguments(place), environment: environment, folder: place.path)
        guard LoopbackPort.waitForServer(on: port) else {
            command.signal(SIGKILL)
            let errors = command.wait().errors
            place.remove()
            throw SystemFailure(server.name, errors, errno: ECONNREFUSED)
        }
    }

    var url: String { "http://127.0.0.1:\(port)" }

    /// Puts a file there, at once, with a modification time in seconds.
    func put(_ name: String, _ bytes: [UInt8], modified: Int) throws {
        try www.write(name + ".new", bytes)
        chmod(www.full(name + ".new"), 0o644)
        let time = timeval(tv_sec: modified, tv_usec: 0)
        var times = (time, time)
        let set = withUnsafeBytes(of: &times) {
            utimes(www.full(name + ".new"), $0.bindMemory(to: timeval.self).baseAddress)
        }
        guard set == 0, rename(www.full(name + ".new"), www.full(name)) == 0 else {
            throw SystemFailure("utimes", name, errno: errno)
        }
    }

    /// Ends it and deletes its folder.
    func stop() {
        command.signal(SIGTERM)
        _ = command.wait(seconds: 10)
        place.remove()
    }
}
