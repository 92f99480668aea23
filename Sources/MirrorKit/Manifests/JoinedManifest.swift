internal import MirrorManifests
public import MirrorModel

extension Manifest {
    /// Makes one manifest of several lists, whose files are together in one tree.
    ///
    /// A file that several of them name becomes one resource, if they do not contradict each other.
    ///
    /// - Parameters:
    ///   - name: the name of the new manifest, which owns its files.
    ///   - lists: the lists that were read; errors name them by their labels.
    /// - Throws: `ManifestRefusal` with each file that two lists describe differently.
    public static func joined(
        name: String, _ lists: [DecodedManifest]
    ) throws(ManifestRefusal) -> Manifest {
        var files = JoinedResources()
        var labels: [String] = []
        for list in lists {
            let label = list.manifest.label ?? list.manifest.owner
            for resource in list.manifest.resources where files.add(resource) {
                labels.append(label)
            }
        }
        let manifest = Manifest(name: name, owner: name, resources: files.resources)
        try manifest.refuse(manifest.flaws(), labels)
        return manifest
    }

    private func refuse(_ flaws: [ManifestFlaw], _ labels: [String]) throws(ManifestRefusal) {
        guard !flaws.isEmpty else { return }
        let shown = flaws.prefix(DiagnosticLog.limit).map { flaw in
            let place = resources.place(at: flaw.position)
            let other = Quoted(labels[flaw.otherPosition])
            return Diagnostic(
                file: labels[flaw.position], line: place.line, column: place.column,
                severity: .error, message: "\(sentence(on: flaw)) (the other is in \(other))")
        }
        throw ManifestRefusal(diagnostics: Array(shown), omitted: flaws.count - shown.count)
    }
}
