import ArgumentParser
import Glibc
import MirrorKit

/// A file for one origin: `https://host=FILE`.
struct OriginFile: ExpressibleByArgument {
    let origin: Origin
    let path: String

    init?(argument: String) {
        guard let sign = argument.firstIndex(of: "="),
            let origin = Origin(String(argument[..<sign])), origin.isSecure
        else { return nil }
        self.origin = origin
        path = String(argument[argument.index(after: sign)...])
    }
}

/// How mirror uses servers, for verbs that fetch resources.
struct NetworkOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Transfers at once, over all hosts (auto: 128).", valueName: "n|auto"))
    var jobs = JobCount.auto

    @Option(
        help: ArgumentHelp(
            "Transfers at once to one host, instead of as many as measuring shows to pay: from 8 on, up to 32 connections, or 100 streams of HTTP/2.",
            valueName: "n"))
    var perHost: Int?

    @Option(
        help: ArgumentHelp(
            "Connections for one large file: a number, or auto for as many as raise the rate, up to 16.",
            valueName: "n|auto"))
    var segments = JobCount.auto

    @Option(help: .store, completion: .directory) var store: [String] = []

    @Option(
        help: ArgumentHelp(
            "Put what was fetched into the store at this URL, where it lacks it (PUT cas/SHA256).",
            valueName: "url"))
    var storePush: String?

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("The greatest body whose size is not declared.", valueName: "size"))
    var maxSize: ByteCount?

    @Option(help: ArgumentHelp("End the run after so many received bytes.", valueName: "size"))
    var maxTransfer: ByteCount?

    @Flag(help: "No request: use what is there.") var offline = false

    @Flag(help: "Refuse what cannot be vouched for, and a list of which an entry cannot be taken.")
    var strict = false

    @Option(
        help: ArgumentHelp(
            "Let ${NAME} in the manifest stand for this environment variable; repeatable.",
            discussion:
                "NAME@https://host sends it to that origin only; a bare NAME is for local manifests.",
            valueName: "name[@origin]"))
    var env: [String] = []

    func validate() throws {
        guard Configuration.counts.contains(perHost ?? 1) else {
            throw ValidationError("--per-host takes a whole number of at least 1.")
        }
        try Configuration.checkPlaces(store: store)
        try Configuration.checkPlaces(push: storePush)
    }

    /// The configuration from these options, with defaults for all other values.
    var configuration: Configuration {
        var configuration = connection.configuration
        if case .number(let number) = jobs { configuration.jobs = number }
        configuration.perHost = perHost
        if case .number(let number) = segments { configuration.segments = number }
        configuration.store = store
        configuration.storePush = storePush
        configuration.transfer.maxSize = maxSize?.bytes
        configuration.transfer.strict = strict
        configuration.maxTransfer = maxTransfer?.bytes
        return configuration
    }

    /// Returns the values that `--env` grants, with the origins that may get them.
    ///
    /// Throws `MirrorError` with `usage`.
    func secrets() throws -> Secrets {
        Secrets.ofThisProcess(
            grants: try env.map { text in
                do throws(MirrorError) { return try Grant(text) } catch {
                    throw MirrorError(error.code, "--env \(error.message)")
                }
            })
    }
}

/// How mirror connects to a manifest's server, for verbs that use no other server.
struct ManifestNetworkOptions: ParsableArguments {
    @Flag(help: "No request: use the last good copy of a manifest that has a URL.")
    var offline = false

    @OptionGroup var connection: ConnectionOptions

    var configuration: Configuration { connection.configuration }
}

/// The option of verbs that ask no server, for scripts that say so.
struct NoNetworkOptions: ParsableArguments {
    @Flag(help: .hidden) var offline = false
}

/// How mirror connects to a server, for any kind of request.
struct ConnectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How often a transfer that failed in passing is tried again.", valueName: "n"))
    var retries = 7

    @Option(
        help: ArgumentHelp(
            "The longest wait before a retry; a server that asks for more fails now.",
            valueName: "time"))
    var maxWait = DurationText(seconds: 300)

    @Option(help: ArgumentHelp("How long less than 1 KiB/s may arrive.", valueName: "time"))
    var stallTimeout = DurationText(seconds: 30)

    @Option(
        help: ArgumentHelp(
            "Bytes a second over all transfers, e.g. 2MiB, or by local time: \"08:00-18:00 1MiB, otherwise 0\"; 0 is no limit.",
            valueName: "rate"))
    var limitRate: RateLimit?

    @Flag(help: "Take user names and passwords from ~/.netrc.") var netrc = false

    @Option(
        help: ArgumentHelp("Take user names and passwords from this file.", valueName: "file"),
        completion: .file())
    var netrcFile: String?

    @Option(
        help: ArgumentHelp(
            "Trust the certificates of this PEM file, and no others.", valueName: "file"),
        completion: .file(extensions: ["pem", "crt"]))
    var cacert: String?

    @Option(
        help: ArgumentHelp(
            "Show this client certificate (PEM) to this origin only, such as https://host:8443=me.pem; repeatable.",
            valueName: "origin=file"),
        completion: .file(extensions: ["pem", "crt"]))
    var cert: [OriginFile] = []

    @Option(
        help: ArgumentHelp(
            "The key of the certificate for this origin, where it is not in the same file; repeatable.",
            valueName: "origin=file"),
        completion: .file(extensions: ["pem", "key"]))
    var key: [OriginFile] = []

    @Option(
        help: ArgumentHelp(
            "Ask for URLs that begin with FROM at TO first, such as a site's cache: https://origin.example/=http://cache/origin/; repeatable.",
            valueName: "from=to"))
    var rewrite: [String] = []

    @Option(
        help: ArgumentHelp(
            "The S3 server for s3:// URLs (default: AWS_ENDPOINT_URL, else Amazon's).",
            valueName: "url"))
    var s3Endpoint: String?

    @Option(
        help: ArgumentHelp(
            "The region of S3 buckets (default: AWS_REGION, else us-east-1).", valueName: "name"))
    var s3Region: String?

    @Flag(help: "Talk to public addresses only: no private, loopback or link-local one.")
    var publicOnly = false

    func validate() throws {
        guard retries >= 0 else { throw ValidationError("--retries takes 0 or more.") }
        guard stallTimeout.seconds > 0 else {
            throw ValidationError("--stall-timeout takes at least 1s.")
        }
        try Configuration.checkPlaces(rewrite: rewrite)
        // libcurl would go on without a netrc file, and reads the others at the first request.
        let files =
            [("--netrc-file", netrcFile), ("--cacert", cacert)]
            + cert.map { ("--cert", $0.path) } + key.map { ("--key", $0.path) }
        for case (let option, let path?) in files {
            if let flaw = ConnectionOptions.flaw(inFile: path) {
                throw ValidationError("\(option) \(path.printable): \(flaw).")
            }
        }
        for path in [cacert].compactMap(\.self) + cert.map(\.path)
        where !ConnectionOptions.hasCertificate(path) {
            throw ValidationError("\(path.printable): it has no certificate in PEM form.")
        }
        for file in cert {
            let keyFile = key.first { $0.origin == file.origin }?.path ?? file.path
            if let flaw = ConnectionOptions.flaw(ofKeyIn: keyFile) {
                throw ValidationError("\(keyFile.printable): \(flaw)")
            }
        }
        for file in key where !cert.contains(where: { $0.origin == file.origin }) {
            throw ValidationError("--key \(file.origin): this origin has no --cert.")
        }
    }

    /// Whether a file has a certificate in PEM form.
    private static func hasCertificate(_ path: String) -> Bool {
        (try? ReplacedFile.text(at: path))?.contains("CERTIFICATE-----") != false
    }

    /// Returns why a PEM file has no key that mirror can use. Returns nil if it has one.
    private static func flaw(ofKeyIn path: String) -> String? {
        guard let text = try? ReplacedFile.text(at: path) else { return nil }
        if text.contains("ENCRYPTED") {
            return
                "the key is encrypted, and mirror asks for no password. Decrypt it: openssl pkey -in FILE"
        }
        return text.contains("PRIVATE KEY-----")
            ? nil : "it has no private key. Name the file of the key with --key."
    }

    /// Returns why a file cannot be read again and again. Returns nil if it can.
    private static func flaw(inFile path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return String(cString: strerror(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else { return "it is no regular file" }
        return access(path, R_OK) == 0 ? nil : String(cString: strerror(errno))
    }

    /// The configuration from these options, with defaults for all other values.
    var configuration: Configuration {
        var configuration = Configuration()
        configuration.transfer.retries = retries
        configuration.transfer.maxWait = maxWait.duration
        configuration.transfer.stallTimeout = stallTimeout.duration
        configuration.limitRate = limitRate
        configuration.publicOnly = publicOnly
        configuration.cacert = cacert
        configuration.rewrite = rewrite
        (configuration.s3Endpoint, configuration.s3Region) = (s3Endpoint, s3Region)
        for file in cert { configuration.cert[file.origin] = file.path }
        for file in key { configuration.key[file.origin] = file.path }
        configuration.netrcFile =
            netrcFile ?? (netrc ? getenv("HOME").map { String(cString: $0) + "/.netrc" } : nil)
        return configuration
    }
}

extension ArgumentHelp {
    /// The help of `--store`, which several verbs have.
    static let store = ArgumentHelp(
        "Ask here first for files with a sha256: a folder with cas/SHA256, another root, or a URL below which a server answers cas/SHA256; repeatable.",
        valueName: "place")
}

extension Configuration {
    /// Throws an error of the command line for places that cannot be asked.
    fileprivate static func checkPlaces(
        store: [String] = [], push: String? = nil, rewrite: [String] = []
    ) throws {
        var configuration = Configuration()
        (configuration.store, configuration.rewrite) = (store, rewrite)
        configuration.storePush = push
        do { try configuration.validate() } catch {
            let option = push != nil ? "--store-push" : store.isEmpty ? "--rewrite" : "--store"
            throw ValidationError("\(option): \(error.message)")
        }
    }
}
