internal import MirrorModel

/// Writes a manifest in JSON, with each member on its own line.
struct JSONManifestEncoder: ManifestEncoder {
    private var json = JSONWriter(indentation: 2)
    private let folder: SourceURL?

    init(folder: SourceURL?) { self.folder = folder }

    var pendingBytes: Int { json.bytes.count }

    mutating func take() -> [UInt8] { json.take() }

    mutating func begin(_ manifest: Manifest) {
        json.beginObject()
        json.member("version", 1)
        if let name = manifest.name { json.member("name", name) }
        if manifest.isAtomic { json.member("atomic", true) }
        json.key("resources")
        json.beginArray()
    }

    mutating func add(_ resource: Resource) {
        let written = WrittenResource(resource, folder: folder)
        json.object { json in
            json.member("path", written.path)
            json.member("url", written.url)
            Self.write(written.mirrors, to: &json)
            if let size = resource.size { json.member("size", size) }
            for digest in written.digests {
                json.member(named: digest.algorithm.rawValue, digest.hex)
            }
            if let integrity = written.integrity { json.member("integrity", integrity) }
            if let pieces = resource.pieces {
                json.key("pieces")
                json.object { json in
                    json.member("length", pieces.length)
                    json.key("sha256")
                    json.array { json in
                        for position in 0..<pieces.count {
                            json.string(Hex.encode(pieces.sha256(at: position)))
                        }
                    }
                }
            }
            if let type = resource.mediaType { json.member("type", type.description) }
            if let refresh = written.refresh { json.member("refresh", refresh.description) }
            if case .post(let body) = resource.method {
                json.member("method", "POST")
                json.member("body", body.description)
            }
            Self.write(resource.primary.headers, to: &json)
            if resource.priority != 0 { json.member("priority", resource.priority) }
            if resource.isExecutable { json.member("executable", true) }
            if resource.isOptional { json.member("optional", true) }
            if resource.isUrgent { json.member("urgent", true) }
            if !resource.tags.isEmpty { json.member("tags", resource.tags) }
        }
    }

    mutating func end() {
        json.endArray()
        json.endObject()
        json.newline()
    }

    private static func write(_ mirrors: [WrittenResource.Mirror], to json: inout JSONWriter) {
        guard !mirrors.isEmpty else { return }
        json.key("mirrors")
        json.array { json in
            for mirror in mirrors {
                if mirror.headers.isEmpty {
                    json.string(mirror.url)
                } else {
                    json.object { json in
                        json.member("url", mirror.url)
                        write(mirror.headers, to: &json)
                    }
                }
            }
        }
    }

    private static func write(_ headers: [HeaderField], to json: inout JSONWriter) {
        guard !headers.isEmpty else { return }
        json.key("headers")
        json.object { json in
            for header in headers {
                json.member(named: header.name, header.value.description)
            }
        }
    }
}
