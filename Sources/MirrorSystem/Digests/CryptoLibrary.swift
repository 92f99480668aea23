internal import CCrypto
package import MirrorModel

/// libcrypto, which is loaded for the first digest, or when a program has time for it: it takes a while,
/// and most runs find nothing to do and need no digest.
package enum CryptoLibrary {
    /// Its functions, or the error that prevented loading. The first access loads the library.
    static let functions: Result<LoadedLibrary<ccrypto>, MirrorError> = load(
        String(cString: ccrypto_library()))

    /// Loads the library now. Throws `MirrorError` where that is impossible.
    ///
    /// A program that is not linked with libcrypto calls this before its work begins: a digest that
    /// cannot be computed ends the process, like one that is linked with a library that is missing.
    package static func require() throws(MirrorError) { _ = try functions.get() }

    /// Its functions, for a digest.
    static var table: UnsafePointer<ccrypto> {
        switch functions {
        case .success(let library): return library.table
        // The command calls `require` first, and other programs are linked with the library.
        case .failure(let error): fatalError(error.message)
        }
    }

    /// Loads the library with this name.
    static func load(_ name: String) -> Result<LoadedLibrary<ccrypto>, MirrorError> {
        do throws(LoadedLibrary<ccrypto>.Failure) {
            return .success(try LoadedLibrary(ccrypto()) { ccrypto_load(name, $0, $1, $2) })
        } catch {
            return .failure(
                MirrorError(
                    .inputOutput,
                    "No digest can be computed, because libcrypto cannot be loaded: \(error.words). If it is missing, install it (Debian: libssl3), and run again."
                ))
        }
    }

    /// Algorithms, each fetched once: it would be looked up anew for each digest (crypto(7ssl), on
    /// implicit fetching).
    static func algorithm(_ algorithm: DigestAlgorithm) -> OpaquePointer {
        switch algorithm {
        case .md5: md5.pointer
        case .sha1: sha1.pointer
        case .sha256: sha256.pointer
        case .sha384: sha384.pointer
        case .sha512: sha512.pointer
        }
    }

    private static let md5 = Fetched("MD5")
    private static let sha1 = Fetched("SHA1")
    private static let sha256 = Fetched("SHA2-256")
    private static let sha384 = Fetched("SHA2-384")
    private static let sha512 = Fetched("SHA2-512")

    private struct Fetched: @unchecked Sendable {
        // The pointer describes an algorithm that is never changed or freed; any threads may use it
        // at once (EVP_MD_fetch(3ssl)).
        let pointer: OpaquePointer

        /// Without the algorithm, OpenSSL would call a function that is not there.
        init(_ name: String) {
            guard let pointer = ccrypto_fetch(table, name) else {
                fatalError("OpenSSL is set up to provide no \(name) (openssl.cnf(5)).")
            }
            self.pointer = pointer
        }
    }
}
