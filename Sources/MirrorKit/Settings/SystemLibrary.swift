package import MirrorModel
internal import MirrorSystem

/// A library of the system that a program loads when it has time for it.
package enum SystemLibrary {
    /// Loads what digests are computed with. Throws `MirrorError` where that is impossible, in which case
    /// nothing can be verified.
    package static func requireDigests() throws(MirrorError) { try CryptoLibrary.require() }
}
