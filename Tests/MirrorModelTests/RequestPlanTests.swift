@testable import MirrorKit
import Testing

/// The header fields that a decided request is sent with, to the byte.
@Suite struct RequestPlanTests {
    private func fields(_ change: (inout RequestPlan) throws -> Void) throws -> [String] {
        var plan = RequestPlan(source: 0, url: try SourceURL("https://a.example/f"))
        try change(&plan)
        return plan.fields.map { "\($0.name): \($0.value)" }
    }

    private static let date = HTTPDate("Sat, 21 Nov 2026 03:56:00 GMT")

    private func validators(_ tag: String?, _ date: HTTPDate?) -> Validators {
        Validators(entityTag: tag.flatMap { EntityTag($0) }, lastModified: date)
    }

    @Test func plainRequestHasNoConditionalFields() throws { #expect(try fields { _ in } == []) }

    @Test(
        "The last byte of a range is the one before its end",
        arguments: [
            (Int64(1), nil, "1-"), (500, nil, "500-"), (400, 401, "400-400"), (4, 8, "4-7"),
            (0, 1, "0-0"), (0, 10, "0-9"),
            (1 << 40, (1 << 40) + 65_536, "1099511627776-1099511693311"),
        ] as [(Int64, Int64?, String)])
    func theLastByteOfARange(offset: Int64, end: Int64?, bytes: String) throws {
        let sent = try fields {
            $0.offset = offset
            $0.end = end
        }
        #expect(sent == ["Range: bytes=\(bytes)"])
    }

    @Test func theStrongValidatorGoesWithTheRange() throws {
        let tag = try #require(EntityTag("\"x\""))
        let date = try #require(Self.date)
        #expect(
            try fields {
                $0.offset = 4
                $0.ifRange = .entityTag(tag)
            } == ["Range: bytes=4-", "If-Range: \"x\""])
        #expect(
            try fields {
                $0.offset = 4
                $0.ifRange = .lastModified(date)
            } == ["Range: bytes=4-", "If-Range: Sat, 21 Nov 2026 03:56:00 GMT"])
    }

    @Test func aConditionIsTheTagElseDate() throws {
        let date = "If-Modified-Since: Sat, 21 Nov 2026 03:56:00 GMT"
        #expect(
            try fields { $0.condition = .local(validators("W/\"x\"", Self.date)) }
                == ["If-None-Match: W/\"x\""])
        #expect(try fields { $0.condition = .part(validators(nil, Self.date)) } == [date])
        #expect(try fields { $0.condition = .local(validators(nil, nil)) } == [])
    }

    @Test func cachesAreBypassedWhereWanted() throws {
        #expect(try fields { $0.bypassesCaches = true } == ["Cache-Control: no-cache"])
    }
}

extension RequestPlan {
    /// The header fields that follow from the plan, in order.
    var fields: [(name: String, value: String)] {
        var fields: [(String, String)] = []
        eachField { fields.append(($0.description, $1)) }
        return fields
    }
}
