internal import MirrorTestSupport

/// What a server stamps its versions with, and which of it may join two halves (RFC 9110 §8.8).
enum Stamp: String, CaseIterable, Sendable {
    case strongTag = "a strong tag"
    case tagAndDate = "a tag and an older date"
    case lastModified = "an older date"
    case weakTag = "a weak tag"
    case malformedTag = "a malformed tag and an older date"
    case tagOfSameSecond = "a tag and a date of the same second"
    case dateOfSameSecond = "a date of the same second"
    case tagWithoutClock = "a tag and a date, and no clock"
    case dateWithoutClock = "a date, and no clock"
    case nothing = "nothing"

    private static func date(_ version: Int) -> String {
        "Sat, 21 Nov 2026 03:5\(version % 10):00 GMT"
    }

    /// The header lines of a version.
    func fields(of version: Int) -> [String] {
        let date = Stamp.date(version)
        let later = "Date: Sat, 21 Nov 2026 04:30:00 GMT"
        let tag = "ETag: \"v\(version)\""
        let modified = "Last-Modified: \(date)"
        return switch self {
        case .strongTag: [tag]
        case .tagAndDate: [tag, modified, later]
        case .lastModified: [modified, later]
        case .weakTag: ["ETag: W/\"v\(version)\""]
        case .malformedTag: ["ETag: v\(version)", modified, later]
        case .tagOfSameSecond: [tag, modified, "Date: \(date)"]
        case .dateOfSameSecond: [modified, "Date: \(date)"]
        case .tagWithoutClock: [tag, modified]
        case .dateWithoutClock: [modified]
        case .nothing: []
        }
    }

    /// The value that If-Range may carry; nil when a version has no strong validator.
    func strong(_ version: Int) -> String? {
        switch self {
        case .strongTag, .tagAndDate: "\"v\(version)\""
        case .lastModified: Stamp.date(version)
        default: nil
        }
    }

    /// Whether a condition that a client sent names the version.
    func confirms(_ version: Int, tag: String?, date: String?) -> Bool {
        let own = fields(of: version)
        if let tag { return own.contains("ETag: \(tag)") }
        if let date { return own.contains("Last-Modified: \(date)") }
        return false
    }
}

/// What the manifest says of the bytes.
enum Knowledge: String, CaseIterable, Sendable {
    case nothing, size, digest, both

    var isPinned: Bool { self == .digest || self == .both }
    var hasSize: Bool { self == .size || self == .both }

    /// The keys of the resource.
    func keys(_ bytes: [UInt8]) -> String {
        (hasSize ? ",\"size\":\(bytes.count)" : "")
            + (isPinned ? ",\"sha256\":\"\(Checksum.sha256(bytes))\"" : "")
    }
}
