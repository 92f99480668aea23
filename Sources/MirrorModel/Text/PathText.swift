/// Splits a path at its last slash, by its bytes; every promotion does so several times.
package enum PathText {
    /// The text before the last slash; empty without one.
    package static func folder(of path: String) -> String {
        part(of: path) { $0.prefix(max($1, 0)) }
    }

    /// The text behind the last slash; the whole path without one.
    package static func name(of path: String) -> String {
        part(of: path) { $0.dropFirst($1 + 1) }
    }

    private static func part(
        of path: String,
        _ body: (UnsafeBufferPointer<UInt8>, Int) -> Slice<UnsafeBufferPointer<UInt8>>
    ) -> String {
        var path = path
        return path.withUTF8 { bytes in
            let slash = bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1
            return String(decoding: body(bytes, slash), as: UTF8.self)
        }
    }
}
