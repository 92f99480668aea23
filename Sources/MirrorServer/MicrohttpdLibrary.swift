internal import CMicrohttpd
internal import MirrorModel
internal import MirrorSystem

/// libmicrohttpd, which is loaded when a tree is served.
package enum MicrohttpdLibrary {
    /// Its functions, or the error that prevented loading. The first access loads the library.
    static let functions: Result<LoadedLibrary<cmicrohttpd>, MirrorError> = load(
        CMICROHTTPD_LIBRARY)

    /// Loads the library with this name.
    static func load(_ name: String) -> Result<LoadedLibrary<cmicrohttpd>, MirrorError> {
        do throws(LoadedLibrary<cmicrohttpd>.Failure) {
            return .success(try LoadedLibrary(cmicrohttpd()) { cmicrohttpd_load(name, $0, $1, $2) })
        } catch {
            return .failure(
                MirrorError(
                    .inputOutput,
                    "Nothing can be served, because libmicrohttpd cannot be loaded: \(error.words). Install it (Debian: libmicrohttpd12) and run again."
                ))
        }
    }
}
