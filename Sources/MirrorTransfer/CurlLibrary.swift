internal import CCurl
internal import MirrorModel
internal import MirrorSystem

/// libcurl, which is loaded when requests are expected, and at the latest when the first one is made.
///
/// It loads some thirty further libraries. A run that makes no request is the most frequent one,
/// and completes in the time that loading them would take.
enum CurlLibrary {
    /// Its functions, or the error that prevented loading. The first access loads the library.
    static let functions: Result<LoadedLibrary<ccurl>, MirrorError> = load(CCURL_LIBRARY)

    /// Makes the first TLS context of the process, for which OpenSSL looks up every algorithm (1 ms).
    ///
    /// libcurl would make it between the handshake of TCP and that of TLS. Returns false where libcurl
    /// is not loaded, or brought no OpenSSL. Only for a process that ends by _exit(2): OpenSSL frees
    /// what this uses when exit(3) is called, on whatever thread that is.
    @discardableResult
    static func prepareTLS(of name: String = CCURL_LIBRARY) -> Bool { ccurl_prepare_tls(name) }

    /// Loads the library with this name.
    static func load(_ name: String) -> Result<LoadedLibrary<ccurl>, MirrorError> {
        do throws(LoadedLibrary<ccurl>.Failure) {
            return .success(try LoadedLibrary(ccurl()) { ccurl_load(name, $0, $1, $2) })
        } catch {
            var failure = MirrorError(
                .connectFailed,
                "No request can be made, because libcurl cannot be loaded: \(error.words). Install it (Debian: libcurl4) and run again."
            )
            // A retry cannot repair this.
            failure.isRetryable = false
            return .failure(failure)
        }
    }
}
