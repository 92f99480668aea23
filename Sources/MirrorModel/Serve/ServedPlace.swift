/// What a request's target names in a served tree (RFC 9112 §3.2).
package enum ServedPlace: Sendable, Hashable {
    /// A folder's listing: the root, whose path is empty, or a folder in an area.
    case folder(String)
    /// An area without the slash behind it.
    case area(Area)
    /// A file, or perhaps a folder without the slash behind it.
    case file(Target)
    /// A file by the sha256 of its bytes.
    case digest(Digest)
    /// Nothing that could be in a tree: hidden files, parts, names that lead elsewhere.
    case nothing
    /// No target of a request.
    case malformed

    /// Reads the path of a target as it was sent, without its query.
    ///
    /// Each segment is decoded once and by itself, so that no encoding makes a slash, a NUL or a dot
    /// segment of a name.
    package init(path: some StringProtocol) {
        guard let segments = ServedPlace.segments(of: path) else {
            self = .malformed
            return
        }
        if segments.count == 2, segments[0] == "cas" {
            self = Digest(.sha256, hex: segments[1]).map { .digest($0) } ?? .nothing
            return
        }
        let isFolder = segments.last == ""
        let whole = (isFolder ? segments.dropLast() : segments[...]).joined(separator: "/")
        if isFolder, whole.isEmpty {
            self = segments.count == 1 ? .folder("") : .nothing
        } else if let area = Area(rawValue: whole) {
            self = isFolder ? .folder(whole) : .area(area)
        } else if let target = try? Target(whole) {
            self = isFolder ? .folder(target.path) : .file(target)
        } else {
            self = .nothing
        }
    }

    /// The decoded segments behind the first slash; nil if the text is no absolute path.
    ///
    /// A segment that cannot be a name is a dot segment, which no target has.
    private static func segments(of path: some StringProtocol) -> [String]? {
        var rest = Substring(path)
        // Servers take the absolute form too (RFC 9112 §3.2.2).
        if rest.utf8.first != slash {
            for scheme in ["http://", "https://"] where rest.lowercased().hasPrefix(scheme) {
                let behind = rest.dropFirst(scheme.count)
                rest = behind.utf8.firstIndex(of: slash).map { behind[$0...] } ?? "/"
                break
            }
        }
        guard rest.utf8.first == slash else { return nil }
        var segments: [String] = []
        for segment in rest.dropFirst().parts(at: "/", keepingEmpty: true) {
            guard isWellFormed(segment) else { return nil }
            let bytes = PercentEncoding.decode(Array(segment.utf8))
            let name = String(validating: bytes, as: UTF8.self)
            segments.append(bytes.contains(slash) ? "." : name ?? ".")
        }
        return segments
    }

    /// Whether each `%` has two digits behind it, and no byte is a space or a control character.
    private static func isWellFormed(_ segment: Substring) -> Bool {
        var digits = 0
        for byte in segment.utf8 {
            if digits > 0 {
                guard Hex.value(of: byte) != nil else { return false }
                digits -= 1
            } else if byte == UInt8(ascii: "%") {
                digits = 2
            } else if byte <= 0x20 || byte == 0x7F {
                return false
            }
        }
        return digits == 0
    }
}

private let slash = UInt8(ascii: "/")
