internal import CCrypto
internal import MirrorModel

/// libcrypto, which is loaded for the first digest: most runs find nothing to do, and need none.
enum CryptoLibrary {
    /// Its functions. The first access loads the library.
    ///
    /// Without it the process cannot continue, as it could not begin where libcrypto is linked. libcurl
    /// needs it, too.
    static let functions: LoadedLibrary<ccrypto> = {
        switch load(String(cString: ccrypto_library())) {
        case .success(let library): return library
        case .failure(let error): fatalError(error.message)
        }
    }()

    /// Loads the library with this name.
    static func load(_ name: String) -> Result<LoadedLibrary<ccrypto>, MirrorError> {
        do throws(LoadedLibrary<ccrypto>.Failure) {
            return .success(try LoadedLibrary(ccrypto()) { ccrypto_load(name, $0, $1, $2) })
        } catch {
            return .failure(
                MirrorError(
                    .inputOutput,
                    "No digest can be computed, because libcrypto cannot be loaded: \(error.words). Install it (Debian: libssl3) and run again."
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
            guard let pointer = ccrypto_fetch(functions.table, name) else {
                fatalError("OpenSSL is set up to provide no \(name) (openssl.cnf(5)).")
            }
            self.pointer = pointer
        }
    }
}
