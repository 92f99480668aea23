internal import MirrorTestSupport

/// The secrets of a case, each with a value that stands nowhere else on the machine.
enum Secret: String, CaseIterable, Sendable {
    /// A header's, granted from the environment, and another one.
    case token, second
    /// A netrc file's password, and that of a source's URL.
    case netrc, login
    /// In the query of a source, and of a place that a server sends to.
    case query, signature
    /// Of the proxy of the environment.
    case proxy
    /// A server's.
    case cookie
    /// The secret of a key for S3, and the token of its session.
    case s3Secret, s3Token

    /// The value, which the seed makes unique.
    func value(_ seed: UInt64) -> String { "\(rawValue)-5ecret-\(String(seed, radix: 36))" }

    /// How it may look on a wire: plain, or in a Basic login of the user `user`.
    func forms(_ seed: UInt64) -> [String] {
        let value = value(seed)
        return [value, Base64.encode(Array("user:\(value)".utf8))]
    }
}

/// One case: who answers what, what the run is told, and where each secret may be seen.
///
/// Texts name the wires' URLs as `%A%`, `%B%` and `%P%`, their authorities as `%a%`, `%b%` and
/// `%p%`, and secrets as `%token%`.
struct SecretCase: Sendable {
    let title: String
    /// The keys of the resources.
    var resources: [String] = ["\"url\":\"%A%/a\""]
    /// Replies by wire and path, `A /a`: a status, and a Location where it needs one.
    var routes: [String: String] = ["A /a": "200"]
    /// The requests in which a secret must be seen; it may be seen in no other.
    var seen: [Secret: Set<String>] = [:]
    var environment: [String: String] = [:]
    var options: [String] = []
    var exit: Int32 = 0
    /// Where the manifest is asked for; nil is a file.
    var manifest: String?
    /// Whether the token is in `$CREDENTIALS_DIRECTORY` instead of the environment.
    var hasCredentialsFolder = false

    init(_ title: String, _ change: (inout SecretCase) -> Void) {
        self.title = title
        change(&self)
    }
}
