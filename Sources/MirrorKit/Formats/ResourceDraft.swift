/// A value and its place.
struct Located<Value> {
    var value: Value
    var place: TextPosition
}

/// A resource while its keys are read, in any order.
///
/// A key with a wrong value is logged, and then counts as missing.
final class ResourceDraft {
    /// The place at which the resource begins.
    let place: TextPosition
    let check: ValueCheck
    /// The number of errors in the log before this resource.
    private let errorsBefore: Int
    /// The values of the keys that need no other key.
    var resource: Resource
    var path: Located<String>?
    var url: Located<String>?
    /// Whether the resource has a `url`, even an unusable one, so that none is reported as missing.
    var hasURL = false
    var mirrors: [MirrorDraft] = []
    private(set) var digests: [Located<Digest>] = []
    private(set) var pieces: Located<Pieces>?
    var method: Located<String>?
    var body: Located<Template>?
    /// Whether the resource has a body, even an unusable one, so that none is reported as missing.
    var hasBody = false
    var refresh: Refresh?
    var headers = HeaderList()
    var tags = TagList()

    init(at place: TextPosition, _ check: ValueCheck, priority: Int32) {
        self.place = place
        self.check = check
        resource = .unnamed
        resource.priority = priority
        (resource.line, resource.column) = (place.line, place.column)
        errorsBefore = check.log.errorCount
    }

    /// Whether the resource has had no error so far.
    var isSound: Bool { check.log.errorCount == errorsBefore }

    /// Sets a digest that is written in hexadecimal digits.
    func setDigest(_ algorithm: DigestAlgorithm, _ value: WrittenValue, at place: TextPosition) {
        guard let digest = check.digest(algorithm, value, algorithm.rawValue, at: place) else {
            return
        }
        add(digest, at: place)
    }

    /// Adds a digest. Two digests of one algorithm must be equal.
    func add(_ digest: Digest, at place: TextPosition) {
        let other = digests.first { $0.value.algorithm == digest.algorithm }
        if let other {
            let flaw = ManifestRules.flaw(
                of: digest, beside: other.value, at: "line \(other.place.line)")
            if let flaw { check.log.error(at: place, flaw) }
            return
        }
        digests.append(Located(value: digest, place: place))
    }

    /// Sets the pieces from their draft, unless the draft has errors.
    func finish(_ pieces: PiecesDraft) {
        guard let value = pieces.value else { return }
        self.pieces = Located(value: value, place: pieces.place)
    }
}

/// A mirror while its keys are read.
final class MirrorDraft {
    let place: TextPosition
    var url: Located<String>?
    var headers = HeaderList()

    init(at place: TextPosition, url: Located<String>? = nil) {
        (self.place, self.url) = (place, url)
    }
}

/// The pieces of a resource while their keys are read. There can be very many pieces.
final class PiecesDraft {
    let place: TextPosition
    private let check: ValueCheck
    private var length: Int64?
    private var packed: [UInt8] = []
    /// Whether every digest of a piece was valid so far.
    var isSound = true

    init(at place: TextPosition, _ check: ValueCheck) { (self.place, self.check) = (place, check) }

    /// Sets the length of a piece.
    func setLength(_ value: WrittenValue, at place: TextPosition) {
        length = check.size(value, "length", at: place)
    }

    /// Adds the digest of one piece.
    func add(_ value: WrittenValue, at place: TextPosition) {
        guard let digest = check.digest(.sha256, value, "a piece's sha256", at: place) else {
            isSound = false
            return
        }
        packed += digest.bytes
    }

    /// The pieces. `nil` means that they have an error, which is in the log.
    var value: Pieces? {
        guard isSound else { return nil }
        guard let length, length > 0 else {
            check.log.error(at: place, "pieces need a length of at least 1 byte")
            return nil
        }
        guard let value = Pieces(length: length, packed: packed) else {
            check.log.error(at: place, "pieces need at least one sha256")
            return nil
        }
        return value
    }
}
