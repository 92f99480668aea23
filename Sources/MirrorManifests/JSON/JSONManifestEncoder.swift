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
            for key in ResourceKey.allCases {
                guard let value = written.value(of: key) else { continue }
                json.key(named: key.rawValue)
                Self.write(value, to: &json)
            }
        }
    }

    mutating func end() {
        json.endArray()
        json.endObject()
        json.newline()
    }

    private static func write(_ value: WrittenResource.Value, to json: inout JSONWriter) {
        switch value {
        case .text(let text), .body(let text): json.string(text)
        case .number(let number): json.number(number)
        case .flag: json.boolean(true)
        case .words(let words): json.array { for word in words { $0.string(word) } }
        case .headers(let headers): write(headers, to: &json)
        case .mirrors(let mirrors):
            json.array { json in
                for mirror in mirrors {
                    if mirror.headers.isEmpty {
                        json.string(mirror.url)
                        continue
                    }
                    json.object { json in
                        json.member("url", mirror.url)
                        json.key("headers")
                        write(mirror.headers, to: &json)
                    }
                }
            }
        case .pieces(let pieces):
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
    }

    private static func write(_ headers: [HeaderField], to json: inout JSONWriter) {
        json.object { json in
            for header in headers {
                json.member(named: header.name, header.value.description)
            }
        }
    }
}
