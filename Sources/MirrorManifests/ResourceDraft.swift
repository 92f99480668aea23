internal import MirrorModel

/// A value and its place.
struct Located<Value> {
    var value: Value
    var place: TextPosition
}

/// A resource while its keys are read, in any order.
///
/// A key with a wrong value is logged and leaves no value behind.
final class ResourceDraft {
    /// Where the resource begins.
    let place: TextPosition
    private let check: ValueCheck
    /// How many errors there were before it.
    private let errorsBefore: Int
    var path: Located<String>?
    var url: Located<String>?
    /// Whether there is a `url`, even with an unusable value: then it is not reported as missing.
    private(set) var hasURL = false
    var mirrors: [MirrorDraft] = []
    var size: Int64?
    private(set) var digests: [Located<Digest>] = []
    private(set) var pieces: Located<Pieces>?
    private(set) var request = RequestDraft()
    var traits = TraitsDraft()

    init(at place: TextPosition, _ check: ValueCheck) {
        self.place = place
        self.check = check
        errorsBefore = check.log.errorCount
    }

    /// Whether nothing was wrong with the resource so far.
    var isSound: Bool { check.log.errorCount == errorsBefore }

    /// Sets a key that has one value; the decoder walks through the other keys.
    func set(_ key: ResourceKey, _ value: WrittenValue, at place: TextPosition) {
        let name = key.rawValue
        switch key {
        case .path: path = located(value, name, at: place)
        case .url:
            hasURL = true
            url = located(value, name, at: place)
        case .size: size = check.size(value, name, at: place)
        case .sha256, .sha512, .sha1, .md5:
            guard let algorithm = DigestAlgorithm(rawValue: name) else { return }
            setDigest(algorithm, value, at: place)
        case .integrity: setIntegrity(value, at: place)
        case .type: traits.type = check.mediaType(value, at: place)
        case .refresh: traits.refresh = check.refresh(value, at: place)
        case .method: request.method = located(value, name, at: place)
        case .body:
            request.hasBody = true
            guard let text = check.text(value, name, at: place, isSecret: true) else { return }
            do throws(TemplateFlaw) {
                request.body = Located(value: try Template(text), place: place)
            } catch {
                check.log.error(at: place, "body: \(error)")
            }
        case .priority: traits.priority = check.priority(value, at: place)
        case .executable: traits.isExecutable = check.boolean(value, name, at: place)
        case .optional: traits.isOptional = check.boolean(value, name, at: place)
        case .urgent: traits.isUrgent = check.boolean(value, name, at: place)
        case .tags: traits.tags = check.tags(value, at: place)
        case .mirrors, .headers, .pieces: check.wrongKind(value, name, at: place)
        }
    }

    private func located(
        _ value: WrittenValue, _ name: String, at place: TextPosition
    ) -> Located<String>? {
        check.text(value, name, at: place).map { Located(value: $0, place: place) }
    }

    /// Sets a digest that is written in hexadecimal digits.
    func setDigest(_ algorithm: DigestAlgorithm, _ value: WrittenValue, at place: TextPosition) {
        guard let digest = check.digest(algorithm, value, algorithm.rawValue, at: place) else {
            return
        }
        add(digest, at: place)
    }

    private func setIntegrity(_ value: WrittenValue, at place: TextPosition) {
        guard let digest = check.integrity(value, at: place) else { return }
        add(digest, at: place)
    }

    /// Adds a digest; two of one algorithm must be equal.
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

    /// Takes over pieces that have been read.
    func finish(_ pieces: PiecesDraft) {
        guard let value = pieces.value else { return }
        self.pieces = Located(value: value, place: pieces.place)
    }
}

/// What a draft asks its server, while its keys are read.
struct RequestDraft {
    var method: Located<String>?
    var body: Located<Template>?
    /// Whether there is a body, even with an unusable value: then it is not reported as missing.
    var hasBody = false
}

/// The values of a draft that most resources of a manifest share.
struct TraitsDraft {
    var type: MediaRange?
    var refresh: Refresh?
    var headers = HeaderList()
    var priority: Int32?
    var isExecutable = false
    var isOptional = false
    var isUrgent = false
    var tags = TagList()
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

/// Pieces while their keys are read; there can be very many.
final class PiecesDraft {
    let place: TextPosition
    private let check: ValueCheck
    private var length: Int64?
    private var packed: [UInt8] = []
    /// Whether no digest of a piece was wrong so far.
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

    /// The pieces; nil if something is wrong with them, which is logged.
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
