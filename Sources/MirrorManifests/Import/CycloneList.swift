internal import MirrorModel

/// CycloneDX in JSON: the references of a component that are of type `distribution`.
enum CycloneList {
    static func read(_ tree: JSONTree, into collector: ListCollector) {
        for component in tree["components"]?.elements ?? [] {
            let references = component["externalReferences"]?.elements ?? []
            let files = references.filter { $0["type"]?.string == "distribution" }
            if files.isEmpty {
                collector.note(
                    "left out: no distribution is named", "component",
                    at: component.place)
            }
            for file in files { add(file, to: collector) }
            read(component, into: collector)
        }
    }

    private static func add(_ file: JSONTree, to collector: ListCollector) {
        guard let url = file["url"]?.word else {
            collector.log.error(at: file.place, "the distribution has no url")
            return
        }
        guard collector.speaks(url) else { return }
        var entry = ListEntry(at: file.place)
        entry.url = url
        for hash in file["hashes"]?.elements ?? [] {
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
