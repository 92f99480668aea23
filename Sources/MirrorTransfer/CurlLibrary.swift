internal import CCurl
internal import MirrorModel
internal import MirrorSystem

/// libcurl, which is loaded when the first request is made.
///
/// It brings some thirty libraries. A run in which nothing is asked for, which is the most frequent
/// one, begins and ends in the time that loading them would take.
enum CurlLibrary {
    /// Its functions, or why there are none. The first to ask loads the library.
    static let functions: Result<LoadedLibrary<ccurl>, MirrorError> = load(CCURL_LIBRARY)

    /// Loads a library that goes by this name.
    static func load(_ name: String) -> Result<LoadedLibrary<ccurl>, MirrorError> {
        do throws(LoadedLibrary<ccurl>.Failure) {
            return .success(try LoadedLibrary(ccurl()) { ccurl_load(name, $0, $1, $2) })
        } catch {
            var failure = MirrorError(
                .connectFailed,
                "No request can be made, because libcurl cannot be loaded: \(error.words). Install it (Debian: libcurl4) and run again."
            )
            // It does not heal by itself.
            failure.isRetryable = false
            return .failure(failure)
        }
    }
}
