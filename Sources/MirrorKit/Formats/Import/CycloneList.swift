extension ListKind {
    /// CycloneDX in JSON: the references of a component that are of type `distribution`.
    static var cyclonedx: ListKind {
        ListKind("CycloneDX", "JSON", .tree(read), .json(keys: ["bomFormat"]))
    }

    /// A distribution of a component.
    private struct Distribution {
        let url: ListWord
        let place: TextPosition
        /// The group, the name and the version of the component.
        let name: String
        let hashes: [JSONTree]
    }

    private static func read(_ tree: JSONTree, into collector: ListCollector) {
        var files: [Distribution] = []
        collect(tree, &files, collector)
        // Some tools name a repository as the distribution, so several components have the same
        // URL.
        var names: [String: String] = [:]
        var shared: Set<String> = []
        for file in files {
            if let other = names.updateValue(file.name, forKey: file.url.value), other != file.name
            {
                shared.insert(file.url.value)
            }
        }
        for file in files { add(file, isShared: shared.contains(file.url.value), to: collector) }
    }

    private static func collect(
        _ tree: JSONTree, _ files: inout [Distribution], _ collector: ListCollector
    ) {
        for component in tree["components"]?.elements ?? [] {
            let name = name(of: component)
            let references = (component["externalReferences"]?.elements ?? []).filter {
                $0["type"]?.string == "distribution"
            }
            // A component that contains other components may be only a folder of them.
            if references.isEmpty, component["components"] == nil {
                collector.leaveOut(name, "it names no distribution", at: component.place)
            }
            for reference in references {
                guard let url = reference["url"]?.word else {
                    collector.leaveOut(
                        name, "its distribution has no URL", at: reference.place)
                    continue
                }
                // If a component has one distribution, the component's digests belong to this file.
                let own = references.count == 1 ? component["hashes"] : nil
                files.append(
                    Distribution(
                        url: url, place: reference.place, name: name,
                        hashes: (reference["hashes"] ?? own)?.elements ?? []))
            }
            collect(component, &files, collector)
        }
    }

    private static func name(of component: JSONTree) -> String {
        let group = component["group"]?.string.map { $0.isEmpty ? "" : $0 + "/" } ?? ""
        return group + component.packageName
    }

    private static func add(
        _ file: Distribution, isShared: Bool, to collector: ListCollector
    ) {
        let url = file.url
        guard collector.speaks(url, name: file.name) else { return }
        let address = url.value.halves(atFirst: "#")?.before ?? url.value[...]
        guard !isShared, address.isURL, !address.hasSuffix(".git"),
            !address.hasSuffix("/"), collector.lastSegment(of: url) != nil
        else {
            return collector.leaveOut(
                file.name, "its distribution is a folder or a repository, not a file", at: url.place
            )
        }
        var entry = ListEntry(at: file.place)
        entry.url = url
        for hash in file.hashes {
            guard let name = hash["alg"]?.string, let digest = hash["content"]?.word else {
                continue
            }
            if !entry.addDigest(name, digest) {
                collector.noteUnknownDigest(name, at: digest.place)
            }
        }
        collector.add(entry)
    }
}
