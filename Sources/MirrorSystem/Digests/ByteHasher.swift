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
    private let crypto: UnsafePointer<ccrypto>
    /// The algorithm.
    package let algorithm: DigestAlgorithm

    /// Begins a digest of no bytes.
    package init(_ algorithm: DigestAlgorithm) {
        self.algorithm = algorithm
        crypto = CryptoLibrary.table
        // It fails only where malloc fails; Swift itself traps there.
        guard let context = ccrypto_new(crypto) else {
            preconditionFailure("EVP_MD_CTX_new: out of memory")
        }
        self.context = context
        ccrypto_begin(crypto, context, CryptoLibrary.algorithm(algorithm))
    }

    private init(copying other: borrowing ByteHasher) {
        self.init(other.algorithm)
        ccrypto_copy(crypto, context, other.context)
    }

    deinit { ccrypto_free(crypto, context) }

    /// A second digest of the bytes so far, independent from here on.
    package func copy() -> ByteHasher { ByteHasher(copying: self) }

    /// Adds bytes at the end.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        ccrypto_update(crypto, context, bytes.baseAddress, bytes.count)
    }

    /// Adds bytes at the end.
    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// The digest of the bytes so far; more may follow.
    package func snapshot() -> Digest { ByteHasher(copying: self).finish() }

    /// The digest of all bytes.
    package consuming func finish() -> Digest {
        let bytes = [UInt8](unsafeUninitializedCapacity: algorithm.byteCount) { buffer, count in
            count = Int(ccrypto_finish(crypto, context, buffer.baseAddress))
        }
        // A digest of another length would be a fault in OpenSSL; the process cannot continue.
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
