internal import MirrorTestSupport

/// A way to answer, and what the contract makes of it.
struct Answer: Sendable {
    /// What the contract makes of an answer; where it leaves a choice there is a case for that.
    enum Meaning: Sendable, Hashable {
        /// Taken: the bytes are whole and right.
        case taken
        /// Taken for whole, as the framing says: but these bytes of the version are all there is.
        case takenAs(Range<Int>)
        case takenOrRefused
        case takenOrFailed
        /// Taken after so many more requests.
        case elsewhere(Int)
        /// The source is left, and it will not heal.
        case refused
        /// As much, after so many redirects.
        case refusedAfter(Int)
        /// It may pass.
        case passing
        case failed
        /// It breaks off; what came may be continued.
        case cut
        /// All bytes are there though it breaks off.
        case cutAtTheEnd
        /// Complete, and not what was declared: asked once more, then given up.
        case wrong
        /// To a range: appended, after so many requests of this kind.
        case continued(Int)
        /// To a range: the part is dropped, and the file asked for again.
        case restarted
        /// To a range: taken for the whole file, and then asked for again.
        case restartedTwice
        /// To a range: taken for the whole file, and cut.
        case restartedAndCut
        case restartedOrContinued
        case restartedOrRefused
        /// To a condition: what is there is current.
        case confirmed
        /// To a condition: not believed, asked for plainly.
        case doubted
    }

    let name: String
    /// What it means by what is known of the bytes; nil where nobody can tell that it lies.
    let meaning: @Sendable (Knowledge) -> Meaning?
    /// The bytes on the wire.
    let make: @Sendable (Served) -> WireAnswer
    /// Whether it never has bytes of the file.
    let isBodiless: Bool
    /// Whether it says that it is the whole file, and has another length than that.
    var contradictsRange: Bool { name.hasPrefix("as 200") || Answer.contradictory.contains(name) }

    /// Whether only the end of its body shows that length.
    var contradictsAtItsEnd: Bool { name == "to the end, cut by FIN" }

    /// Whether the server may refuse nothing but the range.
    var mayRefuseRange: Bool {
        isBodiless && Answer.refusalsOfRanges.contains(String(name.prefix(3)))
    }

    private static let refusalsOfRanges: Set<String> = [
        "400", "403", "404", "405", "412", "500", "501",
    ]

    private static let contradictory: Set<String> = [
        "a Content-Range", "length too long, FIN", "length too short", "empty",
        "the rest as the whole", "gzip indeed", "gzip indeed, cut", "to the end, cut by FIN",
    ]

    init(
        _ name: String, isBodiless: Bool = false,
        _ meaning: @escaping @Sendable (Knowledge) -> Meaning?,
        _ make: @escaping @Sendable (Served) -> WireAnswer
    ) {
        self.name = name
        self.isBodiless = isBodiless
        self.meaning = meaning
        self.make = make
    }

    /// An answer of 200 with all bytes, and something changed.
    static func whole(
        _ name: String, _ meaning: Meaning,
        _ change: @escaping @Sendable (inout WireAnswer, Served) -> Void = { _, _ in }
    ) -> Answer {
        whole(name, { _ in meaning }, change)
    }

    static func whole(
        _ name: String, _ meaning: @escaping @Sendable (Knowledge) -> Meaning?,
        _ change: @escaping @Sendable (inout WireAnswer, Served) -> Void
    ) -> Answer {
        Answer(name, meaning) { served in
            var answer = served.whole
            change(&answer, served)
            return answer
        }
    }

    /// An answer of 206 with the bytes that were asked for, and something changed.
    static func range(
        _ name: String, _ meaning: Meaning,
        _ change: @escaping @Sendable (inout WireAnswer, Served) -> Void = { _, _ in }
    ) -> Answer {
        range(name, { _ in meaning }, change)
    }

    static func range(
        _ name: String, _ meaning: @escaping @Sendable (Knowledge) -> Meaning?,
        _ change: @escaping @Sendable (inout WireAnswer, Served) -> Void
    ) -> Answer {
        Answer(name, meaning) { served in
            var answer = served.range
            change(&answer, served)
            return answer
        }
    }

    /// An answer without bytes of the file.
    static func status(_ status: String, _ meaning: Meaning, _ fields: [String] = []) -> Answer {
        let name = ([status] + fields).joined(separator: ", ")
        return Answer(name, isBodiless: true, { _ in meaning }) { _ in
            var answer = WireAnswer(status: "HTTP/1.1 \(status)", fields: fields)
            if status.hasPrefix("204") || status.hasPrefix("304") { answer.framing = .toTheEnd }
            if !status.hasPrefix("204"), !status.hasPrefix("304"), !status.hasPrefix("205") {
                answer.body = Array("<p>no</p>".utf8)
            }
            return answer
        }
    }
}

/// The version that a server has now, and what was asked of it.
struct Served: Sendable {
    let bytes: [UInt8]
    /// The header lines of its validators.
    let stamp: [String]
    /// Where the range begins that was asked for.
    let offset: Int
    /// Bytes of the version before.
    let older: [UInt8]

    var whole: WireAnswer {
        WireAnswer(fields: stamp + ["Content-Type: application/octet-stream"], body: bytes)
    }

    var range: WireAnswer {
        var answer = whole
        answer.status = "HTTP/1.1 206 Partial Content"
        answer.set("Content-Range", "bytes \(offset)-\(bytes.count - 1)/\(bytes.count)")
        answer.body = Array(bytes[offset...])
        return answer
    }
}
