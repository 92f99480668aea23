internal import MirrorManifests
public import MirrorModel
internal import MirrorSystem

extension MirrorSession {
    /// Writes a manifest to a file, atomically: an existing one is replaced whole or not at all.
    ///
    /// Throws `ManifestRefusal` for values that the notation cannot express, and `MirrorError` with
    /// `usage`, `inputOutput` or `noSpace`; the file is then as it was.
    public static func write(
        _ manifest: Manifest, to path: String, with writer: ManifestWriter
    ) async throws {
        try await Offload.run {
            var writer = writer
            let file = try FileReplacement(of: path)
            writer.folder = writer.folder ?? file.folder
            try writer.check(manifest)
            try file.write { sink in try writer.write(manifest, to: sink) }
        }
    }
}
