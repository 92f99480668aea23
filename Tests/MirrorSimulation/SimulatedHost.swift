import MirrorTestSupport

@testable import MirrorKit

/// What a host of the simulation does to those that ask it.
struct SimulatedHost {
    /// What is wrong with it as a whole.
    enum Character: Equatable {
        /// It answers, and sends what it has.
        case healthy
        /// Its answers go wrong one time in so many.
        case flaky(oneIn: Int64)
        /// A connection stands, and nothing ever comes.
        case silent
        /// No connection: its packets are dropped.
        case blackHole
        /// It refuses connections.
        case refusing
        /// Its name is not known.
        case nameless
        /// It is there, but for some time.
        case away(from: Int64, until: Int64)
        /// Nothing comes fast enough.
        case dripping
        /// It wants no more than so many requests at once.
        case crowded(most: Int)
    }

    /// What is wrong with one answer.
    enum Mishap: CaseIterable {
        case cutOff, stalls, resetBeforeHead, serverError, comeBackLater, notFound, malformed
        case longerThanDeclared, closesEarly, otherVersion, ignoresRange, wrongRange, noValidator
        /// A range, with the status of a whole file: with its length, with Content-Range, in chunks.
        case rangeAsWhole, namedRangeAsWhole, rangeAsWholeInChunks
    }

    let name: String
    let isSecure: Bool
    var character: Character
    /// Milliseconds there and back.
    let roundTrip: Int64
    /// Bytes a millisecond of one connection.
    let rate: Int64
    /// Whether it speaks HTTP/2.
    let sharesConnections: Bool
    /// Whether some of its connections speak HTTP/2 and others HTTP/1.1, and the client's transport
    /// puts several requests on any of them.
    var isMixed = false

    var origin: String { "\(isSecure ? "https" : "http")://\(name).example" }

    /// Whether everything that it has can be had in good time.
    var isHealthy: Bool { character == .healthy }
}

/// Bytes that hosts have, in one version after another.
final class SimulatedResource {
    let number: Int
    let size: Int
    /// When the next version takes the place of the one before.
    let changes: [Int64]
    private var made: [Int: [UInt8]] = [:]
    private var digests: [Int: Digest] = [:]

    init(number: Int, size: Int, changes: [Int64]) {
        self.number = number
        self.size = size
        self.changes = changes
    }

    var path: String { "/r\(number)" }

    func version(at time: Int64) -> Int { changes.count { $0 <= time } }

    /// The length differs where the version does, now and then.
    func size(of version: Int) -> Int { size + (version % 2 == 1 && number % 3 == 0 ? 7 : 0) }

    func bytes(of version: Int) -> [UInt8] {
        if let bytes = made[version] { return bytes }
        let bytes = TestBytes.make(
            size(of: version), seed: UInt64(number) << 8 | UInt64(version))
        made[version] = bytes
        return bytes
    }

    func digest(of version: Int) -> Digest {
        if let digest = digests[version] { return digest }
        let digest = ByteHasher.digest(.sha256, of: bytes(of: version))
        digests[version] = digest
        return digest
    }

    func tag(of version: Int) -> String { "\"r\(number)-v\(version)\"" }

    /// Every version that there is.
    var versions: ClosedRange<Int> { 0...changes.count }
}
