internal import CXML2
internal import MirrorModel

/// libxml2, which is loaded when the first manifest in XML is read.
enum XMLLibrary {
    /// Its functions, valid as long as the process lives.
    struct Functions: @unchecked Sendable {
        // The table is filled once, before anybody else can see it, and never changed or freed.
        let table: UnsafePointer<cxml2>
    }

    /// The functions, or why there are none. The first to ask loads the library.
    static let functions: Result<Functions, MirrorError> = load(CXML2_LIBRARY)

    /// Loads a library that goes by this name.
    static func load(_ name: String) -> Result<Functions, MirrorError> {
        let table = UnsafeMutablePointer<cxml2>.allocate(capacity: 1)
        table.initialize(to: cxml2())
        var problem = [CChar](repeating: 0, count: 512)
        if cxml2_load(name, table, &problem, problem.count) == 0 {
            return .success(Functions(table: UnsafePointer(table)))
        }
        table.deallocate()
        let words = String(
            decoding: problem.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return .failure(
            MirrorError(
                .manifestUnreadable,
                "XML cannot be read, because libxml2 cannot be loaded: \(Escaped(words, limit: 300)). Install it (Debian: libxml2), or convert the manifest to JSON elsewhere."
            ))
    }
}
