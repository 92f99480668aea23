internal import CCrypto

/// A running digest over consecutive bytes, by OpenSSL's EVP interface (EVP_DigestInit(3ssl)).
///
/// EVP picks the instruction set of the machine. A snapshot gives the digest of the bytes so far
/// without ending the digest. A part's milestones are such snapshots.
package struct ByteHasher: ~Copyable, @unchecked Sendable {
    // This value alone owns the context, and a ~Copyable value has one owner at a time: the context
    // may move between threads, and two threads never use it at once.
    private let context: OpaquePointer
    /// The algorithm.
    let algorithm: DigestAlgorithm

    /// Begins a digest of no bytes.
    init(_ algorithm: DigestAlgorithm) {
        self.algorithm = algorithm
        // EVP_MD_CTX_new fails only if malloc fails, and then Swift itself would trap.
        guard let context = EVP_MD_CTX_new() else {
            preconditionFailure("EVP_MD_CTX_new: out of memory")
        }
        self.context = context
        EVP_DigestInit_ex(context, Fetched.algorithm(algorithm), nil)
    }

    private init(copying other: borrowing ByteHasher) {
        self.init(other.algorithm)
        EVP_MD_CTX_copy_ex(context, other.context)
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Returns a second running digest of the bytes so far. Neither changes the other from here on.
    func copy() -> ByteHasher { ByteHasher(copying: self) }

    /// Adds bytes at the end.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    }

    /// Adds bytes at the end.
    mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// Returns the digest of the bytes so far. More bytes may follow.
    func snapshot() -> Digest { ByteHasher(copying: self).finish() }

    /// Ends the digest and returns its value.
    consuming func finish() -> Digest {
        let bytes = [UInt8](unsafeUninitializedCapacity: algorithm.byteCount) { buffer, count in
            var length: UInt32 = 0
            let isDone = EVP_DigestFinal_ex(context, buffer.baseAddress, &length) == 1
            count = isDone ? Int(length) : 0
        }
        // Another length would be a fault in OpenSSL. The process cannot continue then.
        guard let digest = Digest(algorithm, bytes: bytes) else {
            preconditionFailure(
                "EVP_DigestFinal_ex gave \(bytes.count) bytes for \(algorithm)")
        }
        return digest
    }

    /// The digest of bytes that are all in memory.
    package static func digest(_ algorithm: DigestAlgorithm, of bytes: [UInt8]) -> Digest {
        var hasher = ByteHasher(algorithm)
        hasher.update(bytes)
        return hasher.finish()
    }
}

/// An algorithm of OpenSSL that is fetched once.
///
/// Otherwise each digest would look the algorithm up (crypto(7ossl), on implicit fetching).
private struct Fetched: @unchecked Sendable {
    // The pointer describes an algorithm that is never changed or freed.
    // Several threads may use it at once (EVP_MD_fetch(3ossl)).
    private let pointer: OpaquePointer

    /// Fetches an algorithm by its name, or ends the process.
    ///
    /// Without the algorithm, OpenSSL would call a function that is not there.
    private init(_ name: String) {
        guard let pointer = EVP_MD_fetch(nil, name, nil) else {
            fatalError("OpenSSL is set up to provide no \(name) (openssl.cnf(5)).")
        }
        self.pointer = pointer
    }

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
}

extension SourceKey {
    /// The key of a URL: its query is replaced by the query's sha256.
    init(_ url: SourceURL) {
        var text = url.withoutSecrets
        if let query = url.query {
            text += "?" + ByteHasher.digest(.sha256, of: Array(query.utf8)).hex
        }
        self.init(text: text)
    }
}
