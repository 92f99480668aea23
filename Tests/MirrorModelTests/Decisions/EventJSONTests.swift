@testable import MirrorKit
import MirrorTestSupport
import Testing

/// The members that every event has, whatever happened.
@Suite struct EventJSONTests {
    private func written(_ body: Event.Body) throws -> JSONValue {
        let time = Instant(milliseconds: 1_795_233_360_123)
        var json = JSONWriter()
        Event(run: "01J", time: time, body: body).write(to: &json)
        return try #require(JSONValue(String(decoding: json.bytes, as: UTF8.self)))
    }

    @Test func everyEventSaysVersionNameRunAndTime() throws {
        let target = try Target("Caches/a")
        let start = Event.Start(
            target: target, step: .fetch, reason: .missing, source: nil, size: 5, offset: 2)
        for (body, name) in [
            (Event.Body.start(start), "start"), (.summary(Summary()), "summary"),
        ] {
            let json = try written(body)
            #expect(json["v"] == .number(1))
            #expect(json["event"] == .string(name))
            #expect(json["run"] == .string("01J"))
            #expect(json["time"] == .string("2026-11-21T03:56:00.123Z"))
        }
        let json = try written(.start(start))
        #expect(json["path"] == .string("Caches/a"))
        #expect(json["step"] == .string("fetch"))
        #expect(json["size"] == .number(5))
        #expect(json["offset"] == .number(2))
        #expect(json["source"] == .null)
    }
}
