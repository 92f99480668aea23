internal import MirrorManifests
public import MirrorModel

extension Manifest {
    /// Refuses a manifest in which a resource declares no digest that proves its bytes.
    ///
    /// Throws `ManifestRefusal`, which names up to 20 of these resources with their places.
    ///
    /// - Parameter label: the user's name for the manifest; nil stands for the place that it was
    ///   read from.
    public func refuseUnpinned(label: String? = nil) throws(ManifestRefusal) {
        var diagnostics: [Diagnostic] = []
        var count = 0
        for position in resources.indices where resources[position].pin == nil {
            count += 1
            guard diagnostics.count < DiagnosticLog.limit else { continue }
            let place = resources.place(at: position)
            diagnostics.append(
                Diagnostic(
                    file: label ?? origin, line: place.line, column: place.column,
                    severity: .error,
                    message:
                        "\(resources.target(at: position)) has no sha256, sha512 or integrity, and all"
                        + " resources must be pinned; add one"))
        }
        guard count > 0 else { return }
        throw ManifestRefusal(diagnostics: diagnostics, omitted: count - diagnostics.count)
    }

    /// The place that the manifest was read from, as diagnostics call it.
    private var origin: String {
        switch whereabouts {
        case .file(let path): path
        case .url(let key): key.description
        case .standardInput: "<stdin>"
        case .code: owner
        }
    }
}
