internal import MirrorTestSupport

/// A server as data: how it answers each kind of request.
struct AnswerScript: Sendable {
    var stamp = Stamp.strongTag
    /// To a request for the whole file.
    var whole = WholeAnswers.honest
    /// To a request with Range; nil answers it like any other.
    var range: Answer? = RangeAnswers.honest
    /// To a request with a condition; nil answers it like any other.
    var confirmation: Answer?
    /// Whether the file is at another path, to which every request is sent on.
    var isElsewhere = false
    /// Whether each answer has a tag of its own.
    var changesTags = false
    let name: String

    init(_ name: String, _ change: (inout AnswerScript) -> Void) {
        self.name = name
        change(&self)
    }

    /// Every script of the class.
    static let all: [AnswerScript] =
        RangeAnswers.all.map { answer in
            AnswerScript("range: \(answer.name)") { $0.range = answer }
        }
        + WholeAnswers.all.flatMap { answer in
            [
                AnswerScript("\(answer.name), ranges ignored") {
                    $0.whole = answer
                    $0.range = nil
                },
                // The whole file is asked for because a range could not be appended.
                AnswerScript("\(answer.name), ranges of another total") {
                    $0.whole = answer
                    $0.range = otherTotal
                },
            ]
        }
        + Stamp.allCases.flatMap { stamp in
            [RangeAnswers.honest, RangeAnswers.careless, nil, otherTotal].map { range in
                AnswerScript("\(stamp.rawValue), \(range?.name ?? "ranges ignored")") {
                    $0.stamp = stamp
                    $0.range = range
                }
            }
        }
        + [RangeAnswers.honest, RangeAnswers.careless, nil].map { range in
            AnswerScript("a new tag each time, \(range?.name ?? "ranges ignored")") {
                $0.changesTags = true
                $0.range = range
            }
        }
        + [RangeAnswers.honest, nil, otherTotal].map { range in
            AnswerScript("elsewhere, \(range?.name ?? "ranges ignored")") {
                $0.isElsewhere = true
                $0.range = range
            }
        }
        + confirmations.map { answer in
            AnswerScript("condition: \(answer.name)") { $0.confirmation = answer }
        }

    private static let otherTotal = Answer.range("another total", { _ in .restarted }) {
        answer, served in
        answer.set("Content-Range", "bytes \(served.offset)-\(served.bytes.count - 1)/90001")
    }

    /// Answers to a condition that names the first version.
    private static let confirmations: [Answer] = [
        .status("304 Not Modified", .confirmed, ["ETag: \"v0\""]),
        .status("304 Not Modified", .confirmed),
        .status("304 Not Modified", .confirmed, ["ETag: \"v0\"", "Content-Length: 90000"]),
        .status("304 Not Modified", .confirmed, ["Last-Modified: Sat, 21 Nov 2026 03:59:00 GMT"]),
        .status("304 Not Modified", .doubted, ["ETag: \"v1\""]),
        .status("304 Not Modified", .doubted, ["ETag: W/\"v0\""]),
        .status("304 Not Modified", .doubted, ["ETag: v0"]),
        .status("304 Not Modified", .doubted, ["ETag: "]),
        .status("304 Not Modified", .doubted, ["ETag: \"v0\"", "ETag: \"v0\""]),
        .status("304 Not Modified", .doubted, ["ETag: \"v0\"", "ETag: \"v1\""]),
        .status("412 Precondition Failed", .refused),
        .status("503 Service Unavailable", .passing),
        .status("206 Partial Content", .refused, ["Content-Range: bytes 0-9/90000"]),
    ]
}
