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

    /// The number of bytes before the last component.
    package static func nameStart(in path: String) -> Int {
        let start = path.utf8.withContiguousStorageIfAvailable {
            ($0.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1
        }
        return start ?? path.utf8.count - name(of: path).utf8.count
    }

    /// Whether a folder is the text before a path's last slash; makes no text to find that out.
    package static func isFolder(_ folder: String, of path: String) -> Bool {
        // Read where they are: a variable for each would count a reference.
        let answer = folder.utf8.withContiguousStorageIfAvailable { folder in
            path.utf8.withContiguousStorageIfAvailable { path in
                let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
                return slash == folder.count
                    && ByteOrder.commonPrefix(folder, path, limit: slash) == slash
            }
        }
        return (answer ?? nil) ?? areSame(folder, self.folder(of: path))
    }

    /// Whether a text has these bytes.
    package static func hasBytes(_ text: String, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let answer = text.utf8.withContiguousStorageIfAvailable {
            $0.count == bytes.count && ByteOrder.compare($0, bytes) == 0
        }
        return answer ?? text.utf8.elementsEqual(bytes)
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
