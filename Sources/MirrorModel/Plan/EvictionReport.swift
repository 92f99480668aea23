/// What eviction did, or would do.
public struct EvictionReport: Sendable {
    /// The root's path.
    public var root: String
    /// Whether nothing was to be removed.
    public var isDryRun: Bool
    /// The evicted files; a file that could not be removed is in `failures` instead.
    public var eviction: Eviction
    /// Why files that were chosen are still there.
    public var failures: [MirrorError] = []

    /// Takes the chosen files.
    public init(root: String, isDryRun: Bool, eviction: Eviction) {
        self.root = root
        self.isDryRun = isDryRun
        self.eviction = eviction
    }

    /// Enters files that could not be removed.
    public mutating func fail(_ failed: [(file: CachedFile, error: MirrorError)]) {
        guard !failed.isEmpty else { return }
        let targets = Set(failed.lazy.map(\.file.target))
        let evicted = eviction.evicted
        eviction.evicted = evicted.selecting(
            evicted.indices.lazy.filter { !targets.contains(evicted[$0].target) })
        for (file, error) in failed {
            failures.append(error)
            eviction.bytesAfter += file.stamp.size
        }
    }

    /// The bytes that were given back.
    public var bytesEvicted: Int64 { eviction.bytesBefore - eviction.bytesAfter }

    /// Writes the report as one JSON document, handing over its bytes in chunks of about 64 KiB.
    public func write(to sink: ([UInt8]) throws -> Void) rethrows {
        var json = JSONWriter()
        json.beginObject()
        json.member("v", 1)
        json.member("root", root)
        json.member("dryRun", isDryRun)
        json.member("quota", eviction.quota)
        json.key("steps")
        json.beginArray()
        for file in eviction.evicted {
            write(file, "evict", "least-recently-used", to: &json)
            if json.bytes.count > 64 << 10 { try sink(json.take()) }
        }
        for file in eviction.left {
            write(file, "leave", file.state.rawValue, to: &json)
            if json.bytes.count > 64 << 10 { try sink(json.take()) }
        }
        json.endArray()
        writeRest(to: &json)
        json.endObject()
        json.newline()
        try sink(json.take())
    }

    private func writeRest(to json: inout JSONWriter) {
        json.key("failures")
        json.array { json in
            for error in failures {
                json.object { json in
                    json.member("path", error.target?.path)
                    json.member("code", error.code.rawValue)
                    json.member("message", error.message)
                }
            }
        }
        json.key("totals")
        json.object { json in
            json.member("files", eviction.files)
            json.member("bytes", eviction.bytesBefore)
            json.member("evicted", eviction.evicted.count)
            json.member("bytesEvicted", bytesEvicted)
            json.member("bytesLeft", eviction.bytesAfter)
            json.member("fits", eviction.isEnough)
        }
    }

    private func write(
        _ file: CachedFile, _ step: String, _ reason: String, to json: inout JSONWriter
    ) {
        json.object { json in
            json.member("path", file.target.path)
            json.member("step", step)
            json.member("reason", reason)
            json.member("size", file.stamp.size)
            json.member("lastUsed", file.lastUsed.rfc3339)
        }
    }
}
