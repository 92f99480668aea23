internal import Glibc
internal import Synchronization

/// Signs requests to S3: finds the endpoint, the region and the keys of this user.
///
/// The keys come from the environment, else from the files of the AWS tools. They are secrets: they
/// go to libcurl, which makes a signature of them, and are never printed or stored.
final class S3Signer: Sendable {
    /// A key with its secret, and the token of a session if the key is a temporary one.
    struct Keys: Sendable, Hashable {
        var id: String
        var secret: String
        var token: String?
    }

    let place: S3Place
    /// The keys, and when they were last replaced.
    private let state: Mutex<(keys: Keys?, replaced: ContinuousClock.Instant?)>
    /// A refusal may be about keys that were replaced at most this long ago.
    private static let freshness = Duration.seconds(60)
    private let profile: String
    private let environment: @Sendable (String) -> String?

    /// Reads the environment and the AWS files. Throws `MirrorError` with `usage` for a wrong
    /// endpoint.
    init(
        _ configuration: Configuration,
        environment: @escaping @Sendable (String) -> String? = {
            getenv($0).map { String(cString: $0) }
        }
    ) throws(MirrorError) {
        let value = { @Sendable (name: String) in
            environment(name).flatMap { $0.isEmpty ? nil : $0 }
        }
        self.environment = value
        profile = value("AWS_PROFILE") ?? "default"
        let files = AWSFiles(profile: profile, environment: value)
        let endpoint =
            configuration.s3Endpoint ?? value("AWS_ENDPOINT_URL_S3") ?? value("AWS_ENDPOINT_URL")
            ?? files["endpoint_url"]
        let region =
            configuration.s3Region ?? value("AWS_REGION") ?? value("AWS_DEFAULT_REGION")
            ?? files["region"] ?? S3Place.usualRegion
        let url: SourceURL? = try endpoint.map { text throws(MirrorError) in
            let url = try Store.url(text, of: "endpoint")
            guard url.scheme == .http || url.scheme == .https else {
                throw MirrorError(.usage, "\(url): an endpoint begins with https:// or http://.")
            }
            return url
        }
        place = S3Place(endpoint: url, region: region)
        state = Mutex((S3Signer.keys(files, value), nil))
    }

    /// The present keys. `nil` means that requests are not signed, as for a public bucket.
    var keys: Keys? { state.withLock { $0.keys } }

    /// What libcurl needs for a signature (CURLOPT_AWS_SIGV4(3)).
    var scheme: String { "aws:amz:\(place.region):s3" }

    /// Reads the files again. Returns whether the keys have changed, now or a moment ago.
    ///
    /// Tools that make temporary keys replace them in the files before they expire. Other requests
    /// under way may have been signed with the keys of before. A file that is being written may have
    /// no keys, and then those of before stay.
    func refresh() -> Bool {
        let new = S3Signer.keys(AWSFiles(profile: profile, environment: environment), environment)
        return state.withLock { state in
            if let new, new != state.keys { state = (new, .now) }
            return state.replaced.map { $0.duration(to: .now) < S3Signer.freshness } ?? false
        }
    }

    private static func keys(_ files: AWSFiles, _ value: (String) -> String?) -> Keys? {
        if let id = value("AWS_ACCESS_KEY_ID"), let secret = value("AWS_SECRET_ACCESS_KEY") {
            return Keys(id: id, secret: secret, token: value("AWS_SESSION_TOKEN"))
        }
        guard let id = files["aws_access_key_id"], let secret = files["aws_secret_access_key"]
        else { return nil }
        return Keys(id: id, secret: secret, token: files["aws_session_token"])
    }
}

/// The values that a profile has in `~/.aws/credentials` and `~/.aws/config`.
struct AWSFiles {
    private var values: [String: String] = [:]

    /// Reads both files. One that cannot be read has no values.
    init(profile: String, environment: (String) -> String?) {
        let home = environment("HOME") ?? ""
        let config = environment("AWS_CONFIG_FILE") ?? home + "/.aws/config"
        let credentials =
            environment("AWS_SHARED_CREDENTIALS_FILE") ?? home + "/.aws/credentials"
        let section = profile == "default" ? profile : "profile " + profile
        read(config, sections: [section])
        read(credentials, sections: [profile])
    }

    /// The value of a key. Returns nil if neither file has it.
    subscript(name: String) -> String? { values[name] }

    private mutating func read(_ path: String, sections: Set<String>) {
        guard let text = try? ReplacedFile.text(at: path) else { return }
        var isWanted = false
        for line in text.split(whereSeparator: \.isNewline) {
            // An indented line belongs to the key before it.
            if line.first?.isWhitespace == true { continue }
            if line.first == "[" {
                let name = line.dropFirst().prefix { $0 != "]" }
                isWanted = sections.contains(
                    name.split(whereSeparator: \.isWhitespace).joined(separator: " "))
            } else if isWanted, line.first != "#", line.first != ";",
                let (name, value) = line.halves(atFirst: "=")
            {
                let value = value.trimmed
                if !value.isEmpty { values[name.trimmed.lowercased()] = String(value) }
            }
        }
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = self
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
