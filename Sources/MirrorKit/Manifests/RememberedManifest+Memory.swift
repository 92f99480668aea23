internal import MirrorModel
internal import MirrorStore

extension RememberedManifest {
    init(_ memory: ManifestMemory) {
        let record = memory.record
        self.init(name: record.name, place: memory.place, kind: .path)
        if case .url = record.place { kind = .url } else { isThere = memory.found != nil }
        resources = record.resources
        copiedAt = record.copyName == nil ? nil : record.copiedAt
        syncedAt = record.syncedAt
    }
}

extension ManifestMemory {
    /// Where the manifest can be read.
    var source: ManifestSource {
        if case .url(let key) = record.place, !key.text.utf8.contains(UInt8(ascii: "?")),
            let url = try? SourceURL(key.text, relativeTo: nil)
        {
            return .url(url)
        }
        return .path(found ?? place)
    }
}
