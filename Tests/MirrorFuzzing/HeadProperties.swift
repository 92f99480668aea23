@testable import MirrorKit

/// What holds of every head of an answer, put together from lines, and of what is made of it.
enum HeadProperties {
    static let parsers = [
        FuzzedParser("head", longest: 768, dictionary: "fields", flaw)
    ]

    private static let flaw: @Sendable ([UInt8]) -> String? = { bytes in
        var collector = HeadCollector()
        var heads: [ResponseHead] = []
        var isOver = false
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            do throws(ResponseError) {
                guard let head = try collector.take(line: line + [0x0A]) else { continue }
                if isOver { return "a head after the end: \(head)" }
                isOver = true
                heads.append(head)
            } catch {
                if isOver { return "a refusal after the end: \(error)" }
                isOver = true
            }
        }
        return heads.first.flatMap(flaw)
    }

    private static func flaw(in head: ResponseHead) -> String? {
        for field in head.fields {
            let isTrimmed = [field.value.first, field.value.last].allSatisfy {
                $0 != 0x20 && $0 != 0x09
            }
            guard isTrimmed, !field.value.contains(0x0A) else {
                return "the field \(field)"
            }
        }
        let validators = Validators(of: head)
        let tags = head.values(of: .entityTag)
        var isStrongTag = false
        if case .entityTag(let tag) = validators.strong { isStrongTag = !tag.isWeak }
        var isDate = false
        if case .lastModified = validators.strong { isDate = true }
        return firstFlaw(
            ((200...999).contains(head.status), "the status \(head.status)"),
            (validators.entityTag == nil || tags.count == 1, "a tag of several"),
            (validators.strong == nil || isStrongTag || isDate, "strong, and weak"),
            (!isDate || tags.isEmpty, "a date stands in for a tag"),
            (head.contentRange == nil || head.values(of: .contentRange).count == 1, "ranges"),
            (
                head.contentCodings.allSatisfy { !$0.isEmpty && $0 != "identity" },
                "a coding that is none"
            ))
            ?? framingFlaw(of: head)
    }

    private static func framingFlaw(of head: ResponseHead) -> String? {
        let codings = head.values(of: .transferEncoding)
        do throws(ResponseError) {
            let framing = try Framing.judge(head)
            let length = head.values(of: .contentLength)
            switch framing {
            case .length(let count):
                // Every value of the list is this number.
                let parts = length.flatMap { $0.split(separator: 0x2C) }
                let isSaid = parts.allSatisfy {
                    Int64(String(decoding: $0.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self))
                        == count
                }
                return firstFlaw((count >= 0, "\(count) bytes"), (isSaid, "lengths that differ"))
            case .chunked: return codings.count > 0 ? nil : "chunked, but not said"
            case .unbounded:
                return length.isEmpty && codings.isEmpty
                    ? nil : "unbounded, though a length is said"
            case .none: return head.status == 204 || head.status == 304 ? nil : "no body"
            }
        } catch {
            let text = error.cause
            return text.unicodeScalars.allSatisfy { $0.value >= 0x20 }
                ? nil : "unprintable: \(text)"
        }
    }
}
