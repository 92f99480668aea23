/// The response to a request, without the bytes of a file.
struct ServedAnswer: Sendable, Hashable {
    /// The body of a response. For HEAD and with 304 it is not sent, but the head gives its length.
    enum Body: Sendable, Hashable {
        case text([UInt8])
        /// These bytes of the file.
        case file(Range<Int64>)
    }

    /// The status code.
    var status: Int
    /// The header fields, without the ones that every HTTP server sends.
    var fields: [(name: String, value: String)] = []
    /// The body of the response.
    var body = Body.text([])
    /// The sha256 of the body if it is a whole file. `nil` for a part of a file, and for a text.
    var sha256: Digest?

    init(status: Int) { self.status = status }

    /// The value of the field with this name. `nil` means that the response has no such field.
    subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    static func == (left: ServedAnswer, right: ServedAnswer) -> Bool {
        left.status == right.status && left.body == right.body
            && left.fields.elementsEqual(right.fields) { $0 == $1 }
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(status)
        hasher.combine(body)
    }
}

extension ServedAnswer {
    /// Answers a GET or HEAD with a file: conditions first, then the range (RFC 9110 §13.2.2).
    init(to request: ServedRequest, with file: ServedFile) {
        self.init(status: 200)
        body = .file(0..<file.size)
        let condition = ServedAnswer.status(ofConditionsIn: request, on: file)
        if condition == 412 {
            self = .refusal(412)
            fields.append(("ETag", file.entityTag))
            return
        }
        addValidators(of: file)
        if condition == 304 {
            status = 304
            return
        }
        fields += [
            ("Content-Type", file.contentType), ("Accept-Ranges", "bytes"),
            ("Repr-Digest", "sha-256=:\(Base64.encode(file.sha256.bytes)):"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        sha256 = file.sha256
        guard request.method == "GET", ServedAnswer.rangeCounts(in: request, on: file),
            let bytes = request[.range].flatMap({ Range(requestedBy: $0, ofSize: file.size) })
        else { return }
        if bytes.isEmpty {
            self = .refusal(416)
            fields += [("Content-Range", "bytes */\(file.size)"), ("ETag", file.entityTag)]
            return
        }
        status = 206
        body = .file(bytes)
        if bytes.count != file.size { sha256 = nil }
        fields.append(
            ("Content-Range", "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(file.size)"))
    }

    private mutating func addValidators(of file: ServedFile) {
        fields.append(("ETag", file.entityTag))
        // Beside a date of the present second, a client must take the tag for a weak one (RFC 9110
        // §8.8.2.2), and could not resume.
        if SystemClock.now().milliseconds - file.modifiedAt.milliseconds >= 2000 {
            fields.append(("Last-Modified", file.modified.description))
        }
        fields += [
            // The next sync can put other bytes at a file's path, but a digest always names the
            // same bytes.
            (
                "Cache-Control",
                file.isNamedByDigest ? "public, max-age=31536000, immutable" : "no-cache"
            )
        ]
    }

    /// Returns the status that a failed condition of the request demands.
    /// `nil` if all conditions hold.
    private static func status(ofConditionsIn request: ServedRequest, on file: ServedFile)
        -> Int?
    {
        if let tags = request[.ifMatch] {
            if !EntityTag.isListed(file.entityTag, in: tags, isStrong: true) { return 412 }
        } else if let date = request[.ifUnmodifiedSince].flatMap(HTTPDate.init),
            file.modified > date
        {
            return 412
        }
        if let tags = request[.ifNoneMatch] {
            return EntityTag.isListed(file.entityTag, in: tags, isStrong: false) ? 304 : nil
        }
        if let date = request[.ifModifiedSince].flatMap(HTTPDate.init), file.modified <= date {
            return 304
        }
        return nil
    }

    /// Whether If-Range allows the range (RFC 9110 §13.1.5).
    ///
    /// A date never allows the range: two versions of one second share a date, and every file has a
    /// strong tag.
    private static func rangeCounts(
        in request: ServedRequest, on file: ServedFile
    ) -> Bool {
        request[.ifRange].map { $0.trimmingSpaces() == file.entityTag } ?? true
    }
}

extension ServedAnswer {
    /// Returns a response with one sentence, for a request that gets no file.
    static func refusal(_ status: Int) -> ServedAnswer {
        var answer = ServedAnswer(status: status)
        answer.fields = [
            ("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        if status == 405 { answer.fields.append(("Allow", "GET, HEAD")) }
        if status == 503 { answer.fields.append(("Retry-After", "2")) }
        answer.body = .text(Array((sentence(of: status) + "\n").utf8))
        return answer
    }

    /// Returns a redirect to the folder's URL with a slash at its end.
    ///
    /// The relative links of the folder's listing need that slash.
    static func redirect(toFolder path: String) -> ServedAnswer {
        var answer = ServedAnswer(status: 301)
        let reference = SourceURL.reference(toName: path).dropFirst()
        answer.fields = [("Location", reference + "/"), ("Cache-Control", "no-cache")]
        return answer
    }

    private static func sentence(of status: Int) -> String {
        switch status {
        case 400: "The request is malformed."
        case 404: "There is no such file in this tree."
        case 405: "This tree is read-only: use GET or HEAD."
        case 412: "The file is another version than the request names."
        case 416: "The file has no byte in that range."
        case 421: "This server listens on loopback, and answers to its address or localhost only."
        case 503: "The file is being changed, or was changed since mirror put it there."
        default: "The request cannot be answered."
        }
    }

    /// Whether the Host field of a request to a server on loopback names this machine.
    ///
    /// The page of another site can make its own host name resolve to 127.0.0.1, and could then
    /// read the tree (DNS rebinding). This attack does not work with an address, nor with localhost
    /// (RFC 6761 §6.3).
    static func namesThisMachine(_ host: String?) -> Bool {
        guard let host else { return true }
        let text = host.trimmingSpaces().lowercased()
        if text.hasPrefix("[") {
            return text.utf8.allSatisfy {
                Hex.value(of: $0) != nil || "[]:.".utf8.contains($0)
            }
        }
        let (name, port) = text[...].halves(atFirst: ":") ?? (text[...], "")
        guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
        if name == "localhost" || name.hasSuffix(".localhost") { return true }
        return !name.isEmpty
            && name.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    }
}

/// One page of a folder's listing.
struct ServedListing: Sendable, Hashable {
    /// A file or folder in the listing.
    struct Entry: Sendable, Hashable {
        /// The name of the file or folder.
        var name: String
        /// What is known of a file. `nil` means that the entry is a folder.
        var file: ServedFile?
    }

    /// The greatest number of entries on a page, so that memory does not grow with a folder.
    static let mostEntries = 5000

    /// The folder's path. Empty for the root.
    var path: String
    /// The entries, in the order of their names' bytes.
    private(set) var entries: [Entry] = []
    /// Whether the folder has more entries than the page.
    private(set) var isCut = false

    init(path: String) { self.path = path }

    /// Adds the next entry. Returns true if the page is full: the entry then begins the next page.
    mutating func add(_ entry: Entry) -> Bool {
        isCut = entries.count >= ServedListing.mostEntries
        if !isCut { entries.append(entry) }
        return isCut
    }

    /// Returns the listing as a response, in HTML or JSON.
    func answer(asJSON: Bool) -> ServedAnswer {
        var answer = ServedAnswer(status: 200)
        answer.fields = [
            ("Content-Type", asJSON ? "application/json" : "text/html; charset=utf-8"),
            ("Cache-Control", "no-cache"), ("Vary", "Accept"),
            ("X-Content-Type-Options", "nosniff"),
            ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
        ]
        if let next { answer.fields.append(("Link", "<\(next)>; rel=\"next\"")) }
        answer.body = .text(asJSON ? json : Array(html.utf8))
        return answer
    }

    /// The reference to the next page. `nil` means that this is the last page.
    private var next: String? {
        guard isCut, let last = entries.last else { return nil }
        return "?after=" + SourceURL.queryValue(last.name + (last.file == nil ? "/" : ""))
    }

    private var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("v", 1)
            json.member("path", path)
            json.member("next", next)
            json.objects("entries", entries) { entry, json in
                json.member("name", entry.name)
                json.member("type", entry.file == nil ? "folder" : "file")
                json.member("size", entry.file?.size)
                json.member("modified", entry.file?.modifiedAt.rfc3339)
                json.member("sha256", entry.file?.sha256.hex)
            }
        }
        json.newline()
        return json.take()
    }

    /// Returns a time to the minute, e.g. `2026-11-24 15:45 UTC`.
    private static func text(of time: Instant) -> String {
        let text = time.rfc3339
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC"
    }

    private var html: String {
        // The words "Index of" mark the page as a listing, for people and for programs.
        let title = "Index of " + (path.isEmpty ? "/" : "/\(path)/").escapedForHTML
        var rows = ""
        if !path.isEmpty { rows += "<tr><td><a href=\"../\">../</a>\n" }
        for entry in entries {
            let slash = entry.file == nil ? "/" : ""
            let reference = (SourceURL.reference(toName: entry.name) + slash).escapedForHTML
            rows += "<tr><td><a href=\"\(reference)\">\(entry.name.escapedForHTML)\(slash)</a>"
            if let file = entry.file {
                let time = ServedListing.text(of: file.modifiedAt)
                rows += "<td>\(ByteCount(file.size))<td>\(time)"
            }
            rows += "\n"
        }
        if let next { rows += "<tr><td><a href=\"\(next.escapedForHTML)\">more</a>\n" }
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>\(title)</title>
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <style>
            :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
            body { margin: 1rem auto; max-width: 60rem; padding: 0 1rem; overflow-wrap: anywhere;
              background: Canvas; color: CanvasText }
            h1 { font-size: 1.5rem }
            td { padding: .2rem 1rem .2rem 0; vertical-align: top }
            td + td { white-space: nowrap; text-align: right; font-variant-numeric: tabular-nums }
            @media (max-width: 40rem) {
              table, tbody, tr { display: block }
              tr { padding: .5rem 0; border-top: 1px solid GrayText }
              td { display: block; padding: 0 }
              td + td { display: inline-block; padding-right: 1rem; font-size: .875rem }
            }
            </style></head><body><h1>\(title)</h1><table>
            \(rows)</table></body></html>

            """
    }
}

/// A file that can be served: one version, named by its digest (RFC 9110 §3.2).
struct ServedFile: Sendable, Hashable {
    /// The target at which the file is.
    var target: Target
    /// The file's stamp when mirror put it there.
    /// Once the server has opened the file, its present stamp.
    var stamp: FileStamp
    /// The sha256 of the file's bytes.
    var sha256: Digest
    /// The media type that the source sent with the file.
    var mediaType: String?
    /// Whether the requested URL has the digest in it, and so names these bytes only.
    var isNamedByDigest = false

    /// The size in bytes.
    var size: Int64 { stamp.size }

    /// The modification time, in milliseconds.
    var modifiedAt: Instant { Instant(milliseconds: stamp.modified / 1_000_000) }

    /// The modification time, in seconds.
    var modified: HTTPDate {
        HTTPDate(seconds: stamp.modified.dividedDown(by: 1_000_000_000))
    }

    /// The strong entity tag: the digest.
    var entityTag: String { "\"\(sha256.hex)\"" }

    /// The media type that the source sent, or else the one that the name's extension suggests.
    var contentType: String {
        let sent = mediaType.flatMap { MediaRange($0) }.flatMap { $0.type == "*" ? nil : $0 }
        let known = target.fileExtension.flatMap { ServedFile.mediaTypes[$0] }
        return sent?.description ?? known ?? "application/octet-stream"
    }

    /// The media types by extension. Types that no browser needs are left out.
    private static let mediaTypes: [String: String] = [
        "html": "text/html", "htm": "text/html", "css": "text/css", "js": "text/javascript",
        "mjs": "text/javascript", "json": "application/json", "geojson": "application/geo+json",
        // Without a charset, browsers read these types as Windows-1252.
        "txt": "text/plain; charset=utf-8", "md": "text/markdown; charset=utf-8",
        "csv": "text/csv; charset=utf-8", "xml": "application/xml",
        "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
        "gif": "image/gif", "webp": "image/webp", "ico": "image/x-icon", "pdf": "application/pdf",
        "wasm": "application/wasm", "woff2": "font/woff2", "mp4": "video/mp4",
        "webm": "video/webm", "mov": "video/quicktime", "mp3": "audio/mpeg", "m4a": "audio/mp4",
        "ogg": "audio/ogg", "opus": "audio/ogg", "flac": "audio/flac", "wav": "audio/wav",
        "avif": "image/avif", "woff": "font/woff",
    ]
}

extension Int64 {
    /// Divides, and rounds down, also below zero.
    fileprivate func dividedDown(by divisor: Int64) -> Int64 {
        self / divisor - (self % divisor < 0 ? 1 : 0)
    }
}
