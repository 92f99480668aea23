internal import CCurl
internal import MirrorModel

/// libcurl, which is loaded when the first request is made.
///
/// It brings some thirty libraries. A run in which nothing is asked for, which is the most frequent
/// one, begins and ends in the time that loading them would take.
enum CurlLibrary {
    /// Its functions, valid as long as the process lives.
    struct Functions: @unchecked Sendable {
        // The table is filled once, before anybody else can see it, and never changed or freed.
        let table: UnsafePointer<ccurl>
    }

    /// The functions, or why there are none. The first to ask loads the library.
    static let functions: Result<Functions, MirrorError> = load(CCURL_LIBRARY)

    /// Loads a library that goes by this name.
    static func load(_ name: String) -> Result<Functions, MirrorError> {
        let table = UnsafeMutablePointer<ccurl>.allocate(capacity: 1)
        table.initialize(to: ccurl())
        var problem = [CChar](repeating: 0, count: 512)
        if ccurl_load(name, table, &problem, problem.count) == 0 {
            return .success(Functions(table: UnsafePointer(table)))
        }
        table.deallocate()
        let words = String(
            decoding: problem.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var error = MirrorError(
            .connectFailed,
            "No request can be made, because libcurl cannot be loaded: \(Escaped(words, limit: 300)). Install it (Debian: libcurl4) and run again."
        )
        // It does not heal by itself.
        error.isRetryable = false
        return .failure(error)
    }
}
