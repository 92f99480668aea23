/// A kind of failure, as a word that scripts may rely on. docs/events.md lists the words.
///
/// More kinds may come, so a `switch` over the kinds needs a `default`.
public struct FailureCode: RawRepresentable, Sendable, Hashable {
    /// The word, e.g. `connection-lost`.
    public let rawValue: String

    /// Takes a word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Whether running again may help although nothing changes on this machine.
    public var isRetryable: Bool {
        switch self {
        case .nameNotResolved, .connectFailed, .connectionLost, .stalled, .offline,
            .retryAfterTooLong, .deadline, .cancelled, .locked, .noRun, .sourceChanged,
            .rangeIgnored:
            true
        default: false
        }
    }

    /// Whether every other resource of the run would fail too, so that the run ends.
    public var endsRun: Bool {
        switch self {
        case .noSpace, .inputOutput, .transferLimit: true
        default: false
        }
    }
}

extension FailureCode {
    // Reaching a source.
    /// The host's name could not be resolved.
    public static let nameNotResolved = FailureCode(rawValue: "name-not-resolved")
    /// No connection to the host could be made.
    public static let connectFailed = FailureCode(rawValue: "connect-failed")
    /// No safe connection could be made, because of a certificate or the TLS protocol.
    public static let tlsFailed = FailureCode(rawValue: "tls-failed")
    /// The connection ended before the answer did.
    public static let connectionLost = FailureCode(rawValue: "connection-lost")
    /// A transfer was slower than 1 KiB/s for longer than the stall timeout.
    public static let stalled = FailureCode(rawValue: "stalled")
    /// The address is not public, and only public ones are allowed.
    public static let privateAddress = FailureCode(rawValue: "private-address")
    /// The run is offline, and the resource needs a request.
    public static let offline = FailureCode(rawValue: "offline")
    /// The program that uses the library could not supply request headers for an origin.
    public static let noCredentials = FailureCode(rawValue: "no-credentials")

    // What a source answered.
    /// The server answered with a status that brings no bytes; `MirrorError.status` has its number.
    public static let httpStatus = FailureCode(rawValue: "http-status")
    /// The host asks for a wait longer than `TransferPolicy.maxWait`.
    public static let retryAfterTooLong = FailureCode(rawValue: "retry-after-too-long")
    /// A redirect is refused: from https to http, of a POST elsewhere, to a file or a bad URL.
    public static let redirectRefused = FailureCode(rawValue: "redirect-refused")
    /// The server redirected a request more than 10 times.
    public static let tooManyRedirects = FailureCode(rawValue: "too-many-redirects")
    /// The answer contradicts itself or the request.
    public static let malformedResponse = FailureCode(rawValue: "malformed-response")
    /// The answer has a Content-Encoding that mirror did not ask for, and no digest decides.
    public static let encodingRefused = FailureCode(rawValue: "encoding-refused")
    /// The media type is not the declared one, or a page came where a file was expected.
    public static let typeMismatch = FailureCode(rawValue: "type-mismatch")
    /// The size is not the declared or promised one.
    public static let sizeMismatch = FailureCode(rawValue: "size-mismatch")
    /// The body exceeds the size limit, and the manifest declares no size.
    public static let tooLarge = FailureCode(rawValue: "too-large")
    /// The bytes do not have the declared digest; `expected` and `actual` show both.
    public static let digestMismatch = FailureCode(rawValue: "digest-mismatch")
    /// Neither a length nor a digest vouches for the bytes, and the run is strict.
    public static let unverifiable = FailureCode(rawValue: "unverifiable")
    /// The file changed while it was read.
    public static let sourceChanged = FailureCode(rawValue: "source-changed")
    /// The server sent the whole file where mirror asked for the rest.
    public static let rangeIgnored = FailureCode(rawValue: "range-ignored")

    // The tree.
    /// The target has bytes that mirror did not put there, and the caller wants them kept.
    public static let conflict = FailureCode(rawValue: "conflict")
    /// No file is at a target that a program wants to read.
    public static let notThere = FailureCode(rawValue: "not-there")
    /// A thing that is no regular file is in the way, or the target's file or name cannot be used.
    public static let obstructed = FailureCode(rawValue: "obstructed")
    /// Another file has the name that the server suggests.
    public static let nameTaken = FailureCode(rawValue: "name-taken")
    /// The manifest leaves the name to the server, and neither the server nor the URL has one.
    public static let nameMissing = FailureCode(rawValue: "name-missing")
    /// A `file:` source is not there, not readable or not a regular file.
    public static let sourceFileUnreadable = FailureCode(rawValue: "source-file-unreadable")
    /// Reading or writing the disk failed. This ends the run.
    public static let inputOutput = FailureCode(rawValue: "input-output")
    /// A write failed because the disk or the quota is full. This ends the run and keeps parts.
    public static let noSpace = FailureCode(rawValue: "no-space")

    // The run.
    /// The run's deadline is over. Parts are kept.
    public static let deadline = FailureCode(rawValue: "deadline")
    /// The run was interrupted, or the caller cancelled a resource. Parts stay unless discarded.
    public static let cancelled = FailureCode(rawValue: "cancelled")
    /// An option or argument is wrong.
    public static let usage = FailureCode(rawValue: "usage")
    /// mirror refuses a manifest because of errors in it.
    public static let manifestInvalid = FailureCode(rawValue: "manifest-invalid")
    /// A manifest cannot be read or fetched.
    public static let manifestUnreadable = FailureCode(rawValue: "manifest-unreadable")
    /// The root cannot be used.
    public static let rootUnusable = FailureCode(rawValue: "root-unusable")
    /// Another run holds the lock.
    public static let locked = FailureCode(rawValue: "locked")
    /// No process works on the root now, so no run can be steered or followed.
    public static let noRun = FailureCode(rawValue: "no-run")
    /// The plan has more removals than the limit allows.
    public static let deleteLimit = FailureCode(rawValue: "delete-limit")
    /// The quota has no room for a file of a set that is promoted as a whole.
    public static let quotaLimit = FailureCode(rawValue: "quota-limit")
    /// mirror does not fetch the bytes, because too little disk space would stay free.
    public static let spaceLimit = FailureCode(rawValue: "space-limit")
    /// The run received as many bytes as its limit allows.
    public static let transferLimit = FailureCode(rawValue: "transfer-limit")
    /// A repair left a difference: no manifest has the file, or it cannot be read or fetched now.
    public static let notRepaired = FailureCode(rawValue: "not-repaired")
    /// An export cannot hold some files, and the caller does not want them left out.
    public static let exportIncomplete = FailureCode(rawValue: "export-incomplete")
    /// The index was written by a newer mirror.
    public static let indexNewer = FailureCode(rawValue: "index-newer")
    /// A bug in mirror.
    public static let internalError = FailureCode(rawValue: "internal-error")
}

extension FailureCode: CaseIterable {
    /// The kinds that this version knows.
    public static let allCases: [FailureCode] = [
        .nameNotResolved, .connectFailed, .tlsFailed, .connectionLost, .stalled, .privateAddress,
        .offline, .noCredentials, .httpStatus, .retryAfterTooLong, .redirectRefused,
        .tooManyRedirects, .malformedResponse, .encodingRefused, .typeMismatch, .sizeMismatch,
        .tooLarge, .digestMismatch, .unverifiable, .sourceChanged, .rangeIgnored, .conflict,
        .notThere, .obstructed, .nameTaken, .nameMissing, .sourceFileUnreadable, .inputOutput,
        .noSpace, .deadline, .cancelled, .usage, .manifestInvalid, .manifestUnreadable,
        .rootUnusable, .locked, .noRun, .deleteLimit, .quotaLimit, .spaceLimit, .transferLimit,
        .notRepaired, .exportIncomplete, .indexNewer, .internalError,
    ]
}

/// The exit codes, taken from sysexits(3) where that has a fitting code.
extension FailureCode {
    /// The exit code for the failure that ended a run early.
    package var exitCode: Int32 {
        switch self {
        case .usage: 64
        case .manifestInvalid: 65
        case .manifestUnreadable: 66
        case .internalError: 70
        case .rootUnusable: 73
        case .inputOutput, .noSpace: 74
        case .locked: 75
        case .deleteLimit, .spaceLimit, .transferLimit: 77
        case .indexNewer: 78
        default: isRetryable ? 69 : 1
        }
    }
}

extension MirrorError {
    /// The exit code for this error.
    ///
    /// A single error may be retryable though errors with its code are not in general.
    var exitCode: Int32 {
        let exit = code.exitCode
        return exit == 1 && isRetryable ? 69 : exit
    }
}

extension Summary {
    /// The exit code for a run that completed, or that a failure ended.
    ///
    /// A run that hit its deadline may succeed when it is repeated. But if a resource failed for
    /// good before the deadline, repeating the run does not help.
    ///
    /// - Parameters:
    ///   - failure: the failure that ended the run. `nil` means that no failure ended it early.
    ///   - healing: failures of resources that are not optional and may heal by themselves.
    ///   - lasting: failures of resources that are not optional and will not heal by themselves.
    ///   - stale: files that no source could confirm and that the caller does not accept.
    ///   - withoutRoom: files that did not fit on the disk and are not optional.
    ///   - ofFullDisk: failures of such resources because the disk was full.
    package static func exitCode(
        endedBy failure: FailureCode? = nil, healing: Int, lasting: Int, stale: Int,
        withoutRoom: Int = 0, ofFullDisk: Int = 0
    ) -> Int32 {
        let rest: Int32 =
            ofFullDisk > 0
            ? 74 : lasting > 0 ? 1 : withoutRoom > 0 ? 77 : healing > 0 || stale > 0 ? 69 : 0
        guard let failure else { return rest }
        let end = failure.exitCode
        return end == 69 && rest > 0 ? rest : end
    }
}
