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

    /// Whether a folder is the text before a path's last slash; makes no text to find that out.
    package static func isFolder(_ folder: String, of path: String) -> Bool {
        var (folder, path) = (folder, path)
        return folder.withUTF8 { folder in
            path.withUTF8 { path in
                let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
                return slash == folder.count
                    && ByteOrder.commonPrefix(folder, path, limit: slash) == slash
            }
        }
    }

    /// Whether two paths have the same bytes; texts are equal also where those differ.
    package static func areSame(_ first: String, _ second: String) -> Bool {
        var (first, second) = (first, second)
        return first.withUTF8 { first in
            second.withUTF8 { second in
                first.count == second.count && ByteOrder.compare(first, second) == 0
            }
        }
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
