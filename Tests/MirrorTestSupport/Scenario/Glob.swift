/// Names with `*` for any bytes, as `Documents/a.mirror-conflict-*.txt`.
enum Glob {
    /// Whether a name fits a pattern, byte by byte.
    static func matches(_ pattern: String, _ name: String) -> Bool {
        matches(Array(pattern.utf8)[...], Array(name.utf8)[...])
    }

    private static func matches(_ pattern: ArraySlice<UInt8>, _ name: ArraySlice<UInt8>) -> Bool {
        guard let first = pattern.first else { return name.isEmpty }
        if first == UInt8(ascii: "*") {
            return (name.startIndex...name.endIndex).contains {
                matches(pattern.dropFirst(), name[$0...])
            }
        }
        return name.first == first && matches(pattern.dropFirst(), name.dropFirst())
    }
}
