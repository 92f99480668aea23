/// The path of a resource in the tree: `Documents/…`, `Caches/…` or `tmp/…`.
///
/// A target is safe to append to a root. It is relative and stays in its area. No file system and
/// no terminal reads a component of a target as anything else than a name. Two targets are equal if
/// their bytes are. Swift's `String` comparison would merge composed and decomposed forms, which
/// are two files on Linux.
public struct Target: Sendable {
    /// The path, `/`-separated, beginning with the area's name.
    public let path: String

    /// Creates a target from a path. Throws `TargetError` if the path cannot be a target.
    public init(_ path: String) throws(TargetError) {
        if let reason = Target.flaw(in: path) { throw TargetError(path: path, reason: reason) }
        self.path = path
    }

    /// Creates a target from a path that `init(_:)` has accepted before.
    init(unchecked path: String) { self.path = path }

    /// The area that the path begins with.
    public var area: Area {
        Target.area(ofPathBeginningWith: path.utf8.first)
    }

    static func area(ofPathBeginningWith first: UInt8?) -> Area {
        switch first {
        case UInt8(ascii: "D"): .documents
        case UInt8(ascii: "C"): .caches
        default: .tmp
        }
    }

    /// The last component.
    public var name: String { PathText.name(of: path) }

    /// The text behind the name's last dot, in lower case.
    ///
    /// `nil` means that there is no dot, or no text on one side of the dot.
    public var fileExtension: String? {
        guard let (stem, text) = name.halves(atLast: "."), !stem.isEmpty, !text.isEmpty else {
            return nil
        }
        return text.lowercased()
    }

    /// The path of the folder that holds the file, without a trailing slash.
    public var folder: String { PathText.folder(of: path) }

    /// The components from the area to the name.
    public var components: [Substring] { path.parts(at: "/") }

    /// Returns the target of another name in the same folder.
    /// Throws `TargetError` as `init(_:)` does.
    public func sibling(named name: String) throws(TargetError) -> Target {
        try Target(folder + "/" + name)
    }
}

/// A path that cannot be a target, and why.
public struct TargetError: Error, Sendable, Hashable {
    /// The path.
    public let path: String
    /// Why the path cannot be a target.
    let reason: Reason

    /// Why a path cannot be a target.
    enum Reason: Error, Sendable, Hashable {
        /// The path begins with none of the three areas.
        /// The suggestion, if any, is a path in an area.
        case outsideAreas(suggestion: String?)
        /// The path begins with `/`.
        case absolute
        /// The path names an area and nothing in it.
        case areaItself
        /// The path has an empty component (`//`, or a slash at the end).
        case emptyComponent
        /// The path has a component `.` or `..`.
        case dotComponent(String)
        /// The path has a NUL or another control character (C0, DEL or C1).
        case controlCharacter
        /// The path has a component of more than 255 bytes.
        case longComponent(bytes: Int)
        /// The path is longer than Linux's `PATH_MAX` leaves room for.
        case longPath(bytes: Int)
        /// The path is a `tmp/*.part`, the name of an unfinished download.
        case partName
    }
}

extension TargetError: CustomStringConvertible {
    /// The path, then what is wrong with it and what would be right.
    public var description: String { "\(Quoted(path)): \(reason)" }
}

extension TargetError.Reason: CustomStringConvertible {
    /// What is wrong and what would be right, as the end of a sentence.
    var description: String {
        switch self {
        case .outsideAreas(let suggestion):
            "it is in none of Documents/, Caches/ and tmp/"
                + (suggestion.map { "; \(Quoted($0))?" } ?? "")
        case .absolute: "it is absolute; begin it with Documents/, Caches/ or tmp/"
        case .areaItself: "it names an area and no file in it"
        case .emptyComponent: "it has an empty component; write one slash between names"
        case .dotComponent(let component): "it has a component \(Quoted(component)); write it out"
        case .controlCharacter: "it has a control character"
        case .longComponent(let bytes): "it has a component of \(bytes) bytes; 255 is the most"
        case .longPath(let bytes): "it has \(bytes) bytes; \(Target.longestPath) is the most"
        case .partName: "tmp/*.part are the names of unfinished downloads; choose another"
        }
    }
}

private let slash = UInt8(ascii: "/")

extension Target {
    /// The greatest length of a path in bytes. The rest of `PATH_MAX` (4096) is left to the root.
    public static let longestPath = 3072

    static func flaw(in path: String) -> TargetError.Reason? {
        var path = path
        // Nearly all paths are sound, so the fast check comes first.
        // mirror reads rows of the index, and checks their paths, more often than it writes rows.
        if path.withUTF8(isSound) { return nil }
        if path.utf8.first == slash { return .absolute }
        if path.utf8.count > longestPath { return .longPath(bytes: path.utf8.count) }
        if let flaw = path.withUTF8({ flaw(inComponentsOf: $0) }) { return flaw }
        guard let first = path.utf8.firstIndex(of: slash) else {
            return Area(rawValue: path) == nil
                ? .outsideAreas(suggestion: suggestion(for: path)) : .areaItself
        }
        guard let area = Area(rawValue: String(path[..<first])) else {
            return .outsideAreas(suggestion: suggestion(for: path))
        }
        let rest = path.utf8[path.utf8.index(after: first)...]
        if area == .tmp, !rest.contains(slash), rest.suffix(5).elementsEqual(".part".utf8) {
            return .partName
        }
        return nil
    }

    /// Whether these bytes, which must be valid UTF-8, are a target's path.
    static func isSound(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        guard path.count <= longestPath, path.first != slash,
            let area = Area.allCases.first(where: { begins(path, with: $0) }),
            flaw(inComponentsOf: path) == nil
        else { return false }
        let rest = path.dropFirst(area.rawValue.utf8.count + 1)
        return area != .tmp || rest.contains(slash)
            || !rest.suffix(5).elementsEqual(".part".utf8)
    }

    private static func begins(_ path: UnsafeBufferPointer<UInt8>, with area: Area) -> Bool {
        let name = area.rawValue.utf8
        guard path.count > name.count, path[name.count] == slash else { return false }
        let isBegun = name.withContiguousStorageIfAvailable {
            ByteOrder.commonPrefix($0, path) >= $0.count
        }
        return isBegun ?? path.starts(with: name)
    }

    /// Returns the first flaw of a path's components. The bytes must be valid UTF-8.
    ///
    /// The loop is fast, because a million paths may go through it. Returns nil if there is no
    /// flaw.
    private static func flaw(inComponentsOf path: UnsafeBufferPointer<UInt8>) -> TargetError.Reason?
    {
        var start = 0
        var dots = 0
        for at in 0...path.count {
            let byte = at < path.count ? path[at] : slash
            // Digits, letters and most signs. In ASCII they come behind the slash and the dot.
            if byte > slash, byte < 0x7F { continue }
            if byte == slash {
                let length = at - start
                if length == 0, !path.isEmpty { return .emptyComponent }
                if length == dots, (1...2).contains(length) {
                    return .dotComponent(length == 1 ? "." : "..")
                }
                if length > 255 { return .longComponent(bytes: length) }
                (start, dots) = (at + 1, 0)
            } else if byte == UInt8(ascii: ".") {
                dots += 1
            } else if byte < 0x20 || byte == 0x7F {
                return .controlCharacter
            } else if byte == 0xC2, at + 1 < path.count, path[at + 1] < 0xA0 {
                // U+0080 to U+009F: the C1 controls.
                return .controlCharacter
            }
        }
        return nil
    }

    /// Suggests a target for a path outside all areas.
    /// Returns nil if the suggestion would not be sound.
    ///
    /// `caches/x` becomes `Caches/x`. Any other path is put below `Caches/`.
    private static func suggestion(for path: String) -> String? {
        guard !path.isEmpty else { return nil }
        if let (first, rest) = path.halves(atFirst: "/"),
            let area = Area.allCases.first(where: {
                $0.rawValue.lowercased() == first.lowercased()
            })
        {
            let inArea = area.rawValue + "/" + rest
            return flaw(in: inArea) == nil ? inArea : nil
        }
        let beneath = Area.caches.rawValue + "/" + path
        return flaw(in: beneath) == nil ? beneath : nil
    }
}

extension Target: Hashable, Comparable, CustomStringConvertible {
    /// Whether the bytes are the same.
    public static func == (left: Target, right: Target) -> Bool {
        // Buffers are compared in blocks, but other sequences byte by byte.
        var (left, right) = (left.path, right.path)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                left.count == right.count
                    && ByteOrder.commonPrefix(left, right) == left.count
            }
        }
    }

    /// Whether the left path comes first in the order of the bytes.
    public static func < (left: Target, right: Target) -> Bool {
        var (left, right) = (left.path, right.path)
        return left.withUTF8 { left in
            right.withUTF8 { right in ByteOrder.compare(left, right) < 0 }
        }
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        var path = path
        path.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// The path.
    public var description: String { path }
}

/// One of the three folders of a root, each with its own promise about how long files stay.
public enum Area: String, Sendable, Hashable, CaseIterable {
    /// Durable files: never evicted, and a local edit is never lost.
    case documents = "Documents"
    /// Purgeable files: evicted under a quota and fetched again when needed.
    case caches = "Caches"
    /// Throw-away files, and every unfinished download.
    case tmp = "tmp"
}

// MARK: Files whose real names only the server knows

// The manifest gives such a file a folder, and its URL ends in no name.
// A provisional name stands for the file in plans and events until the server has named the file.
// No file ever gets a provisional name.

extension SourceURL {
    /// The provisional name: `unnamed-` and 16 hexadecimal digits that follow from the URL.
    ///
    /// Different URLs have different provisional names, so that one folder can hold many such
    /// files.
    var provisionalName: String {
        // FNV-1a suffices, because the hash only keeps apart the URLs of one manifest.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in requestText.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return "unnamed-" + String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension Target {
    /// Whether the target has the provisional name of a URL.
    func isProvisional(for url: SourceURL) -> Bool {
        url.lastSegment == nil
            && path.utf8.elementsEqual((folder + "/" + url.provisionalName).utf8)
    }
}
