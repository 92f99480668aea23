internal import Glibc
internal import MirrorModel

/// The facts of a record that are looked at for one file at a time, as the text of one column.
///
/// Its fields are separated by U+001F, which none of them can contain: how the bytes were verified, one
/// letter; when they were promoted, in milliseconds; which URL answered, empty for the source itself; the
/// entity tag; the modification date, in seconds; 1 if the tag is the strong validator and 2 if the date
/// is; the media type; and the algorithm of the other digest. Numbers are decimal, and what is unknown is
/// empty.
struct RecordDetails {
    var verified: Verification
    var promotedAt: Instant
    /// Nil for the source itself, and where there is none.
    var answeredBy: String?
    var validators: Validators
    var mediaType: String?
    var otherAlgorithm: DigestAlgorithm?
}

// MARK: Writing

extension RecordDetails {
    private static let separator: UInt8 = 0x1F
    /// More than all fields have together that are no text of a server's.
    private static let fixedLength = 80

    /// Passes the details of a record; the bytes are not valid afterwards.
    static func withText(of record: IndexRecord, _ body: (UnsafeRawBufferPointer) -> Void) {
        let provenance = record.provenance
        var answeredBy = provenance?.answeredBy
        if let source = provenance?.source.text, source == answeredBy { answeredBy = nil }
        let validators = record.validators
        let tag = validators.entityTag?.text
        let mediaType = record.mediaType
        let length =
            fixedLength + (answeredBy?.utf8.count ?? 0) + (tag?.utf8.count ?? 0)
            + (mediaType?.utf8.count ?? 0)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { room in
            var text = DetailsWriter(room)
            text.add(letter(of: record.verified))
            text.next()
            text.add(record.promotedAt.milliseconds)
            text.next()
            text.add(answeredBy)
            text.next()
            text.add(tag)
            text.next()
            if let date = validators.lastModified { text.add(date.seconds) }
            text.next()
            switch validators.strong {
            case .entityTag: text.add(UInt8(ascii: "1"))
            case .lastModified: text.add(UInt8(ascii: "2"))
            case nil: break
            }
            text.next()
            text.add(mediaType)
            text.next()
            text.add(record.otherDigest?.algorithm.rawValue)
            body(UnsafeRawBufferPointer(text.bytes))
        }
    }

    private static func letter(of verified: Verification) -> UInt8 {
        switch verified {
        case .digest: UInt8(ascii: "d")
        case .size: UInt8(ascii: "s")
        case .none: UInt8(ascii: "n")
        }
    }

    private struct DetailsWriter {
        private let room: UnsafeMutableBufferPointer<UInt8>
        private var count = 0

        init(_ room: UnsafeMutableBufferPointer<UInt8>) { self.room = room }

        var bytes: UnsafeBufferPointer<UInt8> {
            UnsafeBufferPointer(rebasing: UnsafeBufferPointer(room)[..<count])
        }

        mutating func next() { add(RecordDetails.separator) }

        mutating func add(_ byte: UInt8) {
            room[count] = byte
            count += 1
        }

        mutating func add(_ text: String?) {
            guard var text else { return }
            text.withUTF8 { bytes in
                _ = room[count...].update(fromContentsOf: bytes)
                count += bytes.count
            }
        }

        mutating func add(_ number: Int64) {
            if number < 0 { add(UInt8(ascii: "-")) }
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: DecimalDigits.most) { digits in
                let start = DecimalDigits.put(number.magnitude, intoEndOf: digits)
                count = room[count...].update(fromContentsOf: digits[start...])
            }
        }
    }
}

// MARK: Reading

extension RecordDetails {
    /// Reads details; nil where they are not sound.
    ///
    /// - Parameter knownType: a media type that is likely, and then not made anew.
    init?(_ text: UnsafeBufferPointer<UInt8>, knownType: String?) {
        var reader = DetailsReader(text)
        do throws(Unsound) {
            guard let verified = try reader.letter().flatMap(Verification.init(letter:)),
                let promoted = try reader.number()
            else { return nil }
            self.verified = verified
            promotedAt = Instant(milliseconds: promoted)
            answeredBy = try reader.text()
            let tag = try reader.tag()
            let date = try reader.number().map { HTTPDate(seconds: $0) }
            switch (try reader.letter(), tag, date) {
            case (nil, _, _): validators = Validators(entityTag: tag, lastModified: date)
            case (UInt8(ascii: "1"), let tag?, _):
                validators = Validators(
                    entityTag: tag, lastModified: date, strong: .entityTag(tag))
            case (UInt8(ascii: "2"), _, let date?):
                validators = Validators(
                    entityTag: tag, lastModified: date, strong: .lastModified(date))
            default: return nil
            }
            mediaType = try reader.text(known: knownType)
            otherAlgorithm = try reader.algorithm()
            guard reader.isAtEnd else { return nil }
        } catch {
            return nil
        }
    }

    private struct Unsound: Error {}

    private struct DetailsReader {
        private let bytes: UnsafeBufferPointer<UInt8>
        /// Where the next field begins.
        private var start = 0

        init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

        /// Whether the last field was read, and no other before it was missing.
        var isAtEnd: Bool { start == bytes.count + 1 }

        mutating func field() throws(Unsound) -> UnsafeBufferPointer<UInt8> {
            guard start <= bytes.count, let base = bytes.baseAddress else { throw Unsound() }
            let first = base + start
            let separator = memchr(first, Int32(RecordDetails.separator), bytes.count - start)
            let count = separator.map { UnsafeRawPointer($0) - UnsafeRawPointer(first) }
            let field = UnsafeBufferPointer(start: first, count: count ?? bytes.count - start)
            start += field.count + 1
            return field
        }

        /// A letter or a digit that stands for something; nil for an empty field.
        mutating func letter() throws(Unsound) -> UInt8? {
            let field = try field()
            if field.count > 1 { throw Unsound() }
            return field.first
        }

        mutating func number() throws(Unsound) -> Int64? {
            let field = try field()
            if field.isEmpty { return nil }
            guard let number = RecordDetails.number(field) else { throw Unsound() }
            return number
        }

        mutating func text(known: String? = nil) throws(Unsound) -> String? {
            let field = try field()
            if field.isEmpty { return nil }
            if let known, PathText.hasBytes(known, field) { return known }
            guard let text = String(sound: field) else { throw Unsound() }
            return text
        }

        mutating func tag() throws(Unsound) -> EntityTag? {
            guard let text = try text() else { return nil }
            guard let tag = EntityTag(text) else { throw Unsound() }
            return tag
        }

        mutating func algorithm() throws(Unsound) -> DigestAlgorithm? {
            guard let name = try text() else { return nil }
            guard let algorithm = DigestAlgorithm(rawValue: name) else { throw Unsound() }
            return algorithm
        }
    }

    /// How the bytes were verified, by details; nil where that is not sound.
    static func verified(in text: UnsafeBufferPointer<UInt8>) -> Verification? {
        guard text.count > 1, text[1] == separator else { return nil }
        return Verification(letter: text[0])
    }

    /// When the bytes were promoted, by details; nil where that is not sound.
    static func promotedAt(in text: UnsafeBufferPointer<UInt8>) -> Instant? {
        guard verified(in: text) != nil else { return nil }
        let rest = text[2...]
        let end = rest.firstIndex(of: separator) ?? rest.endIndex
        return number(UnsafeBufferPointer(rebasing: rest[..<end]))
            .map { Instant(milliseconds: $0) }
    }

    private static func number(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        DecimalDigits.signedValue(of: text)
    }
}

extension Verification {
    fileprivate init?(letter: UInt8) {
        switch letter {
        case UInt8(ascii: "d"): self = .digest
        case UInt8(ascii: "s"): self = .size
        case UInt8(ascii: "n"): self = .none
        default: return nil
        }
    }
}
