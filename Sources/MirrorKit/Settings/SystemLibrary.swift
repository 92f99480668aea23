package import MirrorModel
internal import MirrorSystem

/// What a program needs of the system, and prepares when it has time for it.
package enum SystemLibrary {
    /// Starts a thread for the first call that blocks, then loads what digests are computed with: in this
    /// order, because pthread_create(3) waits for a dlopen(3) under way. Reads the manifest last.
    ///
    /// Throws `MirrorError` where the library cannot be loaded, in which case nothing can be verified.
    package static func prepare(reading manifest: EarlyManifest?) throws(MirrorError) {
        Offload.prepareThread()
        try CryptoLibrary.require()
        manifest?.read()
    }
}
