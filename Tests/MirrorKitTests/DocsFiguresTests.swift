@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Figures of docs/ that a constant decides: the page says what the code has.
@Suite struct DocsFiguresTests {
    /// A page, and words of it in which the figure is the code's.
    struct Figure: Sendable, CustomTestStringConvertible {
        let page: String
        let words: String

        init(_ page: String, _ words: String) {
            self.page = "docs/" + page
            self.words = words
        }

        var testDescription: String { words }
    }

    static let figures: [Figure] = [
        Figure("transfers.md", "every second or \(mebibytes(PipelineDigests.milestoneBytes))"),
        Figure(
            "transfers.md", "a body of \(mebibytes(RequestPlan.leastLong)) or more over HTTP/1.1"),
        Figure("security.md", "\(kibibytes(ActiveRequest.headerLimit)) of headers"),
        Figure("transfers.md", "between 0 and \(seconds(TransferPolicy.firstCeiling)), 1, 2"),
        Figure("transfers.md", "8, 16, \(seconds(TransferPolicy.highestCeiling)) s"),
        Figure(
            "transfers.md",
            "grows \(kibibytes(BytesInHand.progressThatResetsRetries)) beyond"),
        Figure("transfers.md", "gets \(HostPace.start) transfers at first"),
        Figure("transfers.md", "up to \(HostPace.mostConnections), as long as"),
        Figure("transfers.md", "get \(HostPace.mostStreams) streams"),
        Figure("transfers.md", "at most \(Redirection.limit) redirects"),
        Figure("transfers.md", "A rate under \(kibibytes(StallClock.slowest))/s"),
        Figure("events.md", "less than \(kibibytes(StallClock.slowest))/s"),
        Figure(
            "transfers.md", "less than \(mebibytes(SegmentPace.leastMissing)) or a second's work"),
        Figure("transfers.md", "at least \(mebibytes(SegmentSet.leastMissing)) are missing"),
        Figure("manifests.md", "deeper than \(XMLPushParser.deepest) levels"),
        Figure("manifests.md", "more than \(mebibytes(XMLPushParser.longestText)) |"),
        Figure("events.md", "up to \(DiagnosticLog.limit), each with"),
        Figure("security.md", "holds up to \(ManifestFetch.greatestSize >> 30) GiB"),
    ]

    @Test(arguments: figures) func thePageHasTheFigureOfTheCode(_ figure: Figure) throws {
        let root = Folder(#filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined())
        let text = String(decoding: try #require(root.read(figure.page)), as: UTF8.self)
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains(figure.words), "\(figure.page) lacks: \(figure.words)")
    }

    private static func kibibytes(_ count: some BinaryInteger) -> String { "\(count >> 10) KiB" }
    private static func mebibytes(_ count: some BinaryInteger) -> String { "\(count >> 20) MiB" }

    /// Milliseconds as seconds, e.g. `0.5`.
    private static func seconds(_ milliseconds: Int64) -> String {
        milliseconds % 1000 == 0 ? "\(milliseconds / 1000)" : "\(Double(milliseconds) / 1000)"
    }

    /// A small number as a word.
    private static func number(_ value: Double) -> String {
        let words = [
            "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
        ]
        return words.indices.contains(Int(value)) ? words[Int(value)] : "\(Int(value))"
    }
}
