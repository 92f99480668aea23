/// The answer to a request, but for the bytes of a file.
package struct ServedAnswer: Sendable, Hashable {
    /// What the answer is about; not sent for HEAD and with 304, whose heads say its length.
    package enum Body: Sendable, Hashable {
        case text([UInt8])
        /// Bytes of the file.
        case file(Range<Int64>)
    }

    /// The status code.
    package var status: Int
    /// Header fields, but for those that every HTTP server sends.
    package var fields: [(name: String, value: String)] = []
    /// The body.
    package var body = Body.text([])
    /// The sha256 of the body where it is a whole file; nil for a part of a file, and for a text.
    package var sha256: Digest?

    package init(status: Int) { self.status = status }

    /// A field's value.
    package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    package static func == (left: ServedAnswer, right: ServedAnswer) -> Bool {
        left.status == right.status && left.body == right.body
            && left.fields.elementsEqual(right.fields) { $0 == $1 }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(status)
        hasher.combine(body)
    }
}

extension ServedAnswer {
    /// Answers a GET or HEAD with a file: conditions first, then the range (RFC 9110 §13.2.2).
    package init(to request: ServedRequest, with file: Representation) {
        self.init(status: 200)
        body = .file(0..<file.size)
        switch ServedAnswer.precondition(of: request, on: file) {
        case .fails:
            self = .refusal(412)
            fields.append(("ETag", file.entityTag))
            return
        case .isUnchanged:
            status = 304
            addValidators(of: file)
            return
        case .holds: addValidators(of: file)
        }
        fields += [
            ("Content-Type", file.mediaType), ("Accept-Ranges", "bytes"),
            ("Repr-Digest", ReprDigest.field(of: file.sha256)),
            ("X-Content-Type-Options", "nosniff"),
        ]
        sha256 = file.sha256
        guard request.method == "GET", ServedAnswer.rangeCounts(in: request, on: file),
            let range = request[.range].flatMap(ByteRange.init)
        else { return }
        guard let bytes = range.bytes(ofSize: file.size) else {
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

    private mutating func addValidators(of file: Representation) {
        fields += [
            ("ETag", file.entityTag), ("Last-Modified", file.modified.description),
            // The name of a file can get other bytes by the next sync; a digest cannot.
            (
                "Cache-Control",
                file.isNamedByDigest ? "public, max-age=31536000, immutable" : "no-cache"
            ),
        ]
    }

    private enum Precondition { case holds, fails, isUnchanged }

    private static func precondition(
        of request: ServedRequest, on file: Representation
    ) -> Precondition {
        if let tags = request[.ifMatch] {
            if !EntityTagList(tags).contains(file.entityTag, isStrong: true) { return .fails }
        } else if let date = request[.ifUnmodifiedSince].flatMap(HTTPDate.init),
            file.modified > date
        {
            return .fails
        }
        if let tags = request[.ifNoneMatch] {
            return EntityTagList(tags).contains(file.entityTag, isStrong: false)
                ? .isUnchanged : .holds
        }
        if let date = request[.ifModifiedSince].flatMap(HTTPDate.init), file.modified <= date {
            return .isUnchanged
        }
        return .holds
    }

    /// Whether If-Range lets a range count (RFC 9110 §13.1.5).
    ///
    /// A date never does: two versions of one second share it, and every file has a strong tag.
    private static func rangeCounts(
        in request: ServedRequest, on file: Representation
    ) -> Bool {
        request[.ifRange].map { $0.trimmingSpaces() == file.entityTag } ?? true
    }
}

extension ServedAnswer {
    /// An answer in one sentence, for a request that gets no file.
    package static func refusal(_ status: Int) -> ServedAnswer {
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

    /// The way to a folder, whose listing's relative links need the slash at the end.
    package static func redirect(toFolder path: String) -> ServedAnswer {
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

    /// Whether a request to a server on loopback names it as one would that means this machine.
    ///
    /// A page of another site can lead its own host name to 127.0.0.1, and could read the tree then
    /// (DNS rebinding). It cannot do that with an address, nor with localhost (RFC 6761 §6.3).
    package static func namesThisMachine(_ host: String?) -> Bool {
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
