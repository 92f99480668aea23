/// Reads a manifest in JSON, a resource at a time.
struct JSONManifestDecoder {
    private var tokens: JSONTokenizer
    let builder: ManifestBuilder
    /// Whether `base` or `defaults` came after a resource to which it applies.
    private(set) var cameTooLate = false
    /// Whether a resource has been read, with or without errors.
    private var hasSeenResource = false

    init(_ bytes: ManifestBytes, builder: ManifestBuilder) throws(DecodingStop) {
        tokens = try JSONTokenizer(bytes, log: builder.log)
        self.builder = builder
    }

    /// Reads the whole text. Throws if the rest of the text cannot be read.
    mutating func decode() throws(DecodingStop) {
        let first = try tokens.next()
        guard case .beginObject = first else {
            builder.log.error(
                at: tokens.start, "a manifest is an object: { \"resources\": [ … ] }")
            throw .refused
        }
        let place = tokens.start
        var hasResources = false
        try members(of: TopKey.self) { decoder, key, token throws(DecodingStop) in
            let place = decoder.tokens.start
            switch (key, token) {
            case (.defaults, .beginObject):
                decoder.cameTooLate = decoder.cameTooLate || decoder.hasSeenResource
                try decoder.decodeDefaults()
            case (.resources, .beginArray):
                hasResources = true
                try decoder.decodeResources()
            default:
                if key == .resources { hasResources = true }
                let isLate = key == .base && decoder.hasSeenResource
                decoder.cameTooLate = decoder.cameTooLate || isLate
                decoder.builder.set(key, try decoder.value(token), at: place)
            }
        }
        if !hasResources {
            builder.log.error(at: place, "the manifest has no resources; add \"resources\": []")
        }
        _ = try tokens.next()
    }

    private mutating func decodeDefaults() throws(DecodingStop) {
        try members(of: DefaultsKey.self) { decoder, key, token throws(DecodingStop) in
            switch (key, token) {
            case (.headers, .beginObject):
                let place = decoder.tokens.start
                decoder.builder.setDefault(headers: try decoder.headers(), at: place)
            case (.tags, .beginArray):
                let place = decoder.tokens.start
                decoder.builder.setDefault(tags: try decoder.tags(), at: place)
            default:
                let place = decoder.tokens.start
                decoder.builder.setDefault(key, try decoder.value(token), at: place)
            }
        }
    }

    private mutating func decodeResources() throws(DecodingStop) {
        while true {
            let token = try tokens.next()
            let place = tokens.start
            switch token {
            case .endArray: return
            case .beginObject:
                hasSeenResource = true
                try decodeResource(at: place)
            default:
                let kind = try value(token).kind
                builder.log.error(
                    at: place, "a resource is \(kind); write an object such as { \"url\": \"…\" }")
            }
        }
    }

    private mutating func decodeResource(at place: TextPosition) throws(DecodingStop) {
        let draft = builder.draft(at: place)
        try members(of: ResourceKey.self) { decoder, key, token throws(DecodingStop) in
            switch (key, token) {
            case (.headers, .beginObject): draft.headers = try decoder.headers()
            case (.mirrors, .beginArray): draft.mirrors = try decoder.mirrors()
            case (.pieces, .beginObject): try decoder.decodePieces(of: draft)
            case (.tags, .beginArray): draft.tags = try decoder.tags()
            default:
                let place = decoder.tokens.start
                draft.set(key, try decoder.value(token), at: place)
            }
        }
        builder.finish(draft)
    }

    private mutating func mirrors() throws(DecodingStop) -> [MirrorDraft] {
        var mirrors: [MirrorDraft] = []
        while true {
            let token = try tokens.next()
            let place = tokens.start
            if case .endArray = token { return mirrors }
            let mirror = MirrorDraft(at: place)
            if case .beginObject = token {
                try members(of: MirrorKey.self) { decoder, key, token throws(DecodingStop) in
                    let place = decoder.tokens.start
                    switch (key, token) {
                    case (.headers, .beginObject): mirror.headers = try decoder.headers()
                    case (.headers, _):
                        decoder.builder.check.wrongKind(
                            try decoder.value(token), "headers", at: place)
                    case (.url, _):
                        let value = try decoder.value(token)
                        mirror.url = decoder.builder.check.text(value, "url", at: place)
                            .map { Located(value: $0, place: place) }
                    }
                }
            } else {
                guard let text = builder.check.text(try value(token), "a mirror", at: place)
                else { continue }
                mirror.url = Located(value: text, place: place)
            }
            mirrors.append(mirror)
        }
    }

    private mutating func decodePieces(of draft: ResourceDraft) throws(DecodingStop) {
        let pieces = PiecesDraft(at: tokens.start, builder.check)
        try members(of: PiecesKey.self) { decoder, key, token throws(DecodingStop) in
            let place = decoder.tokens.start
            switch (key, token) {
            case (.length, _):
                pieces.setLength(try decoder.value(token), at: place)
            case (.sha256, .beginArray):
                try decoder.elements { _, value, place in
                    pieces.add(value, at: place)
                }
            case (.sha256, _):
                _ = try decoder.value(token)
                decoder.builder.log.error(at: place, "sha256 of pieces is a list; write [\"…\"]")
                pieces.isSound = false
            }
        }
        draft.finish(pieces)
    }

    private mutating func tags() throws(DecodingStop) -> TagList {
        var tags = TagList()
        try elements { decoder, value, place in
            decoder.builder.check.addTag(value, to: &tags, at: place)
        }
        return tags
    }

    private mutating func headers() throws(DecodingStop) -> HeaderList {
        var headers = HeaderList()
        while true {
            guard case .key = try tokens.next() else { return headers }
            let (name, nameAt) = (tokens.string, tokens.start)
            let token = try tokens.next()
            let valueAt = tokens.start
            builder.check.addHeader(
                name, try value(token), to: &headers, nameAt: nameAt, valueAt: valueAt)
        }
    }
}

extension JSONManifestDecoder {
    /// Reads an object's members.
    ///
    /// Calls `body` with each known key and the first token of its value.
    private mutating func members<Key: ManifestKey>(
        of _: Key.Type,
        _ body: (inout JSONManifestDecoder, Key, JSONToken) throws(DecodingStop) -> Void
    ) throws(DecodingStop) {
        while true {
            guard case .key = try tokens.next() else { return }
            if let key = Key.named(tokens.text) {
                try body(&self, key, try tokens.next())
            } else {
                let name = tokens.string
                let place = tokens.start
                let token = try tokens.next()
                if !name.isForeignKey {
                    var value: String?
                    if case .string = token { value = tokens.string }
                    builder.log.error(
                        at: place, Key.message(about: name, value, as: "key"),
                        correction: Key.correction(of: name).map { .value(name, $0) })
                }
                try tokens.skip(token)
            }
        }
    }

    /// Calls `body` with each element of a list.
    private mutating func elements(
        _ body: (inout JSONManifestDecoder, WrittenValue, TextPosition) -> Void
    ) throws(DecodingStop) {
        while true {
            let token = try tokens.next()
            let place = tokens.start
            if case .endArray = token { return }
            body(&self, try value(token), place)
        }
    }

    /// Returns the value that begins with a token.
    ///
    /// The contents of an object or a list are skipped.
    private mutating func value(_ token: JSONToken) throws(DecodingStop) -> WrittenValue {
        switch token {
        case .string: return .string(tokens.string)
        case .number: return .number(tokens.string)
        case .boolean(let value): return .boolean(value)
        case .beginObject:
            try tokens.skip(token)
            return .object
        case .beginArray:
            try tokens.skip(token)
            return .array
        default: return .null
        }
    }
}
