import FoundationEssentials
import MirrorManifests
import MirrorModel
import Testing

@testable import MirrorKit

/// What a file of recorded decisions holds, and what is wrong with one that is none.
@Suite struct RecordedDecisionReadingTests {
    /// Files that were recorded on somebody's machine; a new one only has to be put there.
    static let folder =
        "/" + #filePath.split(separator: "/").dropLast().joined(separator: "/") + "/recorded"

    static let samples = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []

    @Test(arguments: samples)
    func everyCommittedDecisionIsMadeAgainAsRecorded(_ name: String) throws {
        let decisions = try RecordedDecision.decisions(inFile: Self.folder + "/" + name)
        #expect(!decisions.isEmpty)
        for difference in ReplayReport(of: decisions).differences {
            Issue.record(
                "\(name): \(difference.target): \(difference.recorded) is now \(difference.now)")
        }
    }

    @Test func samplesAreThere() { #expect(Self.samples.count >= 5) }

    @Test(arguments: samples)
    func whatIsReadIsWrittenAgainAsItWas(_ name: String) throws {
        let text = try Data(contentsOf: URL(filePath: Self.folder + "/" + name))
        let decisions = try RecordedDecision.decisions(in: Array(text), file: name)
        var json = JSONWriter(indentation: 1)
        RecordedDecision.beginDocument(in: &json)
        for decision in decisions { decision.write(to: &json) }
        RecordedDecision.endDocument(in: &json)
        let (written, recorded) = (json.take(), Array(text))
        // Which mirror wrote it is not kept.
        let lines = { (bytes: [UInt8]) in
            String(decoding: bytes, as: UTF8.self).split(separator: "\n")
                .filter { !$0.hasPrefix(" \"mirror\"") }
        }
        #expect(lines(written) == lines(recorded))
    }

    private static let target = #""target": "Caches/a""#
    private static let start = #"{ "v": 1, "decisions": [ { "target": "Caches/a","# + "\n"

    @Test(arguments: [
        ("", "1:1: error: "),
        ("[]", "1:1: error: an object belongs here"),
        ("{}", "1:1: error: these are no recorded decisions"),
        (#"{ "name": "m", "resources": [] }"#, "1:1: error: these are no recorded decisions"),
        (#"{ "decisions": [] }"#, "1:1: error: the key v is missing"),
        (#"{ "v": 2, "more": [] }"#, "1:8: error: version 2 was written for a newer mirror"),
        (#"{ "v": 0, "decisions": [] }"#, "1:8: error: v: write 1"),
        (#"{ "v": 1 }"#, "1:1: error: the key decisions is missing"),
        ("{ \"v\": 1,\n  \"decision\": [] }", "2:3: error: \"decision\": there is no such key"),
        (start + #""now": "yesterday" } ] }"#, "1:26: error: the key wanted is missing"),
        (
            start + #" "wanted": { "manifest": "m", "url": "nowhere", "refresh": "never" } } ] }"#,
            "2:38: error: url: write an absolute URL"
        ),
        (
            #"{ "v": 1, "decisions": [ { "target": "/etc/passwd" } ] }"#,
            "1:38: error: target: write a path beneath Documents, Caches or tmp"
        ),
    ])
    func aWrongFileIsRefusedWithItsPlace(text: String, expected: String) throws {
        do {
            _ = try RecordedDecision.decisions(in: Array(text.utf8), file: "f.json")
            Issue.record("it was taken")
        } catch {
            #expect(error.description.contains("f.json:" + expected), "\(error)")
        }
    }

    @Test func anAbsentFileIsNamed() {
        do {
            _ = try RecordedDecision.decisions(inFile: "/nonexistent/f.json")
            Issue.record("it was taken")
        } catch let error as MirrorError {
            #expect(error.code == .manifestUnreadable)
            #expect(error.message.contains("/nonexistent/f.json"))
        } catch { Issue.record("\(error)") }
    }
}
