internal import CXML2
internal import MirrorModel
internal import MirrorSystem

/// libxml2, which is loaded when the first manifest in XML is read.
enum XMLLibrary {
    /// Its functions, or the error of its loading. The first access loads the library.
    static let functions: Result<LoadedLibrary<cxml2>, MirrorError> = load(CXML2_LIBRARY)

    /// Loads the library that has this name.
    static func load(_ name: String) -> Result<LoadedLibrary<cxml2>, MirrorError> {
        do throws(LoadedLibrary<cxml2>.Failure) {
            return .success(try LoadedLibrary(cxml2()) { cxml2_load(name, $0, $1, $2) })
        } catch {
            return .failure(
                MirrorError(
                    .manifestUnreadable,
                    "XML cannot be read, because libxml2 cannot be loaded: \(error.words). Install it (Debian: libxml2), or convert the manifest to JSON elsewhere."
                ))
        }
    }
}
