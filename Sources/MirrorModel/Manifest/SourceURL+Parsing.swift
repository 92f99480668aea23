// Strict parsing of URLs and references to them (RFC 3986). What a lenient parser would repair is
// refused with the right spelling, because two parsers that repair differently are how a request
// ends up at an unchecked host.

extension SourceURL {
    /// The greatest length of a URL's text in bytes.
    public static let longestText = 16384

    /// Reads an absolute URL, or a reference resolved against a base (RFC 3986 §5.2).
    ///
    /// The fragment is dropped, characters outside ASCII in path and query are percent-encoded as
    /// UTF-8, and dot segments, `%2E` included, are removed.
    public init(_ text: String, relativeTo base: SourceURL? = nil) throws(URLFlaw) {
        do throws(URLFlaw.Reason) { try self.init(reading: text, relativeTo: base) } catch {
            throw URLFlaw(text, error)
        }
    }

    private init(reading text: String, relativeTo base: SourceURL?) throws(URLFlaw.Reason) {
        let reference = try URLReference(text)
        if let scheme = reference.scheme {
            try self.init(scheme: scheme, reference, authority: reference.authority)
            return
        }
        guard let base else { throw .relativeWithoutBase }
        if let authority = reference.authority {
            try self.init(scheme: base.scheme, reference, authority: authority)
            return
        }
        let path: [UInt8]
        var query = reference.query
        if reference.path.isEmpty {
            path = Array(base.path.utf8)
            query = query ?? base.query.map { Array($0.utf8) }
        } else if reference.path.first == UInt8(ascii: "/") {
            path = DotSegments.remove(from: reference.path)
        } else {
            let folder = base.path.utf8.prefix(
                through: base.path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? base.path.startIndex)
            path = DotSegments.remove(from: Array(folder) + reference.path)
        }
        self.init(base.authority, pathAndQuery: SourceURL.joined(path, query))
        try checkFilePath()
    }

    private init(
        scheme: URLScheme, _ reference: URLReference, authority: URLReference.Authority?
    ) throws(URLFlaw.Reason) {
        let authority = authority ?? URLReference.Authority()
        if scheme == .file {
            guard reference.authority != nil || reference.path.first == UInt8(ascii: "/") else {
                throw .file("a file URL is absolute; write file:///folder/name")
            }
            guard authority.host.isEmpty || authority.host == "localhost",
                authority.userInfo == nil, authority.port == nil
            else { throw .file("a file URL has no host; write file:///folder/name") }
        } else if authority.host.isEmpty {
            throw .missingHost
        }
        var path = DotSegments.remove(from: reference.path)
        if path.isEmpty { path = [UInt8(ascii: "/")] }
        let origin = Origin(
            scheme: scheme, host: scheme == .file ? "" : authority.host,
            port: authority.port ?? scheme.defaultPort)
        self.init(
            URLAuthority(origin, userInfo: authority.userInfo),
            pathAndQuery: SourceURL.joined(path, reference.query))
        try checkFilePath()
    }

    private static func joined(_ path: [UInt8], _ query: [UInt8]?) -> String {
        guard let query else { return String(decoding: path, as: UTF8.self) }
        return String(decoding: path + [UInt8(ascii: "?")] + query, as: UTF8.self)
    }

    private func checkFilePath() throws(URLFlaw.Reason) {
        guard scheme == .file else { return }
        guard query == nil else {
            throw .file("a file URL has no query; write %3F for a question mark")
        }
        for segment in path.utf8.split(separator: UInt8(ascii: "/")) {
            let bytes = PercentEncoding.decode(segment)
            guard !bytes.contains(0), !bytes.contains(UInt8(ascii: "/")),
                String(validating: bytes, as: UTF8.self) != nil
            else { throw .file("its path is none that a file can have") }
        }
    }
}

/// Dot segments of paths (RFC 3986 §5.2.4).
enum DotSegments {
    /// An absolute path without `.` and `..`, in either case of their percent-encodings.
    static func remove(from path: [UInt8]) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        // Most paths have no dot segment, and a manifest may have a million of them.
        if !mayHaveDotSegment(path) { return path }
        var kept: [ArraySlice<UInt8>] = []
        let segments = path.split(separator: slash, omittingEmptySubsequences: false).dropFirst()
        for (position, segment) in segments.enumerated() {
            let isLast = position == segments.count - 1
            switch dots(in: segment) {
            case 1: if isLast { kept.append([]) }
            case 2:
                _ = kept.popLast()
                if isLast { kept.append([]) }
            default: kept.append(segment)
            }
        }
        return kept.reduce(into: []) { result, segment in
            result.append(slash)
            result += segment
        }
    }

    private static func mayHaveDotSegment(_ path: [UInt8]) -> Bool {
        var afterSlash = false
        for byte in path {
            if afterSlash, byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%") { return true }
            afterSlash = byte == UInt8(ascii: "/")
        }
        return false
    }

    /// 1 for `.`, 2 for `..`, 0 for any other segment.
    private static func dots(in segment: ArraySlice<UInt8>) -> Int {
        guard segment.count <= 6 else { return 0 }
        let decoded = PercentEncoding.decode(segment)
        guard !decoded.isEmpty, decoded.count <= 2 else { return 0 }
        return decoded.allSatisfy { $0 == UInt8(ascii: ".") } ? decoded.count : 0
    }
}
