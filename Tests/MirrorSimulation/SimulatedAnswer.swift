@testable import MirrorKit

/// What a host sends for one request.
struct SimulatedAnswer {
    var lines: [String]
    var body: ArraySlice<UInt8> = []
    /// What ends it before its end, and after how many bytes of the body.
    var failure: TransportFailure?
    var failsAfter: Int = .max
    /// After how many bytes nothing more comes.
    var stallsAfter: Int = .max

    static let lost = TransportFailure(
        .connectionLost, "the connection was lost: simulated", isPassing: true, wasSent: true)

    private init(_ status: Int, _ fields: [(String, String)], isShared: Bool) {
        let version = isShared ? "HTTP/2" : "HTTP/1.1"
        lines = ["\(version) \(status) simulated"] + fields.map { "\($0.0): \($0.1)" } + [""]
    }

    /// An answer without a body.
    static func empty(
        _ status: Int, _ fields: [(String, String)] = [], isShared: Bool
    ) -> SimulatedAnswer {
        SimulatedAnswer(status, fields + [("Content-Length", "0")], isShared: isShared)
    }

    /// What a host that keeps to the rules sends (RFC 9110 §13 and §14).
    static func right(
        _ plan: RequestPlan, _ resource: SimulatedResource, version: Int,
        mishap: SimulatedHost.Mishap?, isShared: Bool
    ) -> SimulatedAnswer {
        let bytes = resource.bytes(of: version)
        let tag = resource.tag(of: version)
        var fields = [("Date", "Thu, 01 Jan 2026 00:00:10 GMT")]
        if mishap != .noValidator { fields.append(("ETag", tag)) }
        if plan.condition?.validators.entityTag?.text == tag, mishap != .noValidator {
            return SimulatedAnswer(304, fields, isShared: isShared)
        }
        var asksRange = plan.asksRange && mishap != .ignoresRange
        if case .entityTag(let wanted)? = plan.ifRange, wanted.text != tag { asksRange = false }
        if asksRange, plan.offset >= bytes.count {
            fields.append(("Content-Range", "bytes */\(bytes.count)"))
            return .empty(416, fields, isShared: isShared)
        }
        var range = 0..<bytes.count
        if asksRange {
            range = Int(plan.offset)..<min(bytes.count, Int(plan.end ?? Int64(bytes.count)))
            let first = mishap == .wrongRange ? range.lowerBound + 1 : range.lowerBound
            fields.append(
                ("Content-Range", "bytes \(first)-\(range.upperBound - 1)/\(bytes.count)"))
        }
        let length = mishap == .longerThanDeclared ? range.count + 3 : range.count
        fields.append(("Content-Length", String(length)))
        switch mishap {
        case .rangeAsWhole: fields.removeAll { $0.0 == "Content-Range" }
        case .rangeAsWholeInChunks where asksRange:
            fields.removeAll { $0.0 == "Content-Range" || $0.0 == "Content-Length" }
            if !isShared { fields.append(("Transfer-Encoding", "chunked")) }
        default: break
        }
        let saysWhole = [.rangeAsWhole, .namedRangeAsWhole, .rangeAsWholeInChunks].contains(mishap)
        var answer = SimulatedAnswer(
            asksRange && !saysWhole ? 206 : 200, fields, isShared: isShared)
        answer.body = bytes[range]
        return answer
    }

    /// The same, gone wrong.
    mutating func spoil(_ mishap: SimulatedHost.Mishap, _ chance: Chance) {
        let some = Int(chance.number(0...Int64(max(0, body.count - 1))))
        switch mishap {
        case .cutOff:
            (failsAfter, failure) = (some, SimulatedAnswer.lost)
        case .closesEarly, .longerThanDeclared:
            // libcurl tells of a body that is shorter than its Content-Length.
            (failsAfter, failure) = (
                mishap == .closesEarly ? some : body.count, SimulatedAnswer.lost
            )
        case .stalls: stallsAfter = some
        case .malformed: lines.insert("Content-Length: 5, 10", at: 1)
        case .resetBeforeHead, .serverError, .comeBackLater, .notFound, .otherVersion,
            .ignoresRange, .wrongRange, .noValidator, .rangeAsWhole, .namedRangeAsWhole,
            .rangeAsWholeInChunks:
            break
        }
    }
}
