internal import CCrypto
package import MirrorModel

/// A running digest over consecutive bytes, by OpenSSL's EVP interface (EVP_DigestInit(3ssl)).
///
/// EVP picks the instruction set of the machine. A snapshot gives the digest of the bytes so far
/// without ending the digest; a part's milestones are made in this way.
package struct ByteHasher: ~Copyable, @unchecked Sendable {
    // This value alone owns the context, and a ~Copyable value has one owner at a time: the context
    // may move between threads, and two threads never use it at once.
    private let context: OpaquePointer
    /// The algorithm.
    package let algorithm: DigestAlgorithm

    /// Begins a digest of no bytes.
    package init(_ algorithm: DigestAlgorithm) {
        self.algorithm = algorithm
        // It fails only where malloc fails; Swift itself traps there.
        guard let context = EVP_MD_CTX_new() else {
            preconditionFailure("EVP_MD_CTX_new: out of memory")
        }
        self.context = context
        EVP_DigestInit_ex(context, algorithm.evp, nil)
    }

    private init(copying other: borrowing ByteHasher) {
        self.init(other.algorithm)
        EVP_MD_CTX_copy_ex(context, other.context)
    }

    deinit { EVP_MD_CTX_free(context) }

    /// A second digest of the bytes so far, independent from here on.
    package func copy() -> ByteHasher { ByteHasher(copying: self) }

    /// Adds bytes at the end.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    }

    /// Adds bytes at the end.
    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// The digest of the bytes so far; more may follow.
    package func snapshot() -> Digest { ByteHasher(copying: self).finish() }

    /// The digest of all bytes.
    package consuming func finish() -> Digest {
        var length: UInt32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: algorithm.byteCount) { buffer, count in
            EVP_DigestFinal_ex(context, buffer.baseAddress, &length)
            count = Int(length)
        }
        // A digest of another length would be a fault in OpenSSL; the process cannot continue.
        guard let digest = Digest(algorithm, bytes: bytes) else {
            preconditionFailure("EVP_DigestFinal_ex gave \(length) bytes for \(algorithm)")
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

extension DigestAlgorithm {
    fileprivate var evp: OpaquePointer? {
        switch self {
        case .md5: EVP_md5()
        case .sha1: EVP_sha1()
        case .sha256: DigestAlgorithm.fetchedSHA256.algorithm ?? EVP_sha256()
        case .sha384: EVP_sha384()
        case .sha512: EVP_sha512()
        }
    }

    /// The fetched SHA-256 algorithm; it is fetched once.
    ///
    /// EVP_sha256 would be looked up anew for each digest (crypto(7ssl), on implicit fetching).
    private static let fetchedSHA256 = Fetched(EVP_MD_fetch(nil, "SHA2-256", nil))

    private struct Fetched: @unchecked Sendable {
        // The pointer describes an algorithm that is never changed or freed; any threads may use it
        // at once (EVP_MD_fetch(3ssl)).
        let algorithm: OpaquePointer?

        init(_ algorithm: OpaquePointer?) { self.algorithm = algorithm }
    }
}
