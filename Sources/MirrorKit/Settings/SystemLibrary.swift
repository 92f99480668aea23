package import MirrorModel
internal import MirrorSystem

/// A library of the system that a program loads when it has time for it.
package enum SystemLibrary {
    /// Loads what digests are computed with. Throws `MirrorError` where that is impossible, in which case
    /// nothing can be verified.
    ///
    /// A thread for the first call that blocks is started before: pthread_create(3) waits for a dlopen(3)
    /// under way.
    package static func requireDigests() throws(MirrorError) {
        Offload.prepareThread()
        try CryptoLibrary.require()
    }
}
