import Testing

@testable import MirrorKit

/// How progress is counted after a part began again: on a line that breaks, and from sources that
/// never send the same version twice.
@Suite struct RestartedPartTests {
    typealias Machine = TransferMachineTests

    private static let size: Int64 = 1_000_000_000
    private static let step = BytesInHand.progressThatResetsRetries

    private static func whole(_ tag: String, size: Int64 = size) -> ResponseHead {
        Machine.head(200, ("Content-Length", String(size)), ("ETag", tag))
    }

    private static func rest(from start: Int64, _ tag: String) -> ResponseHead {
        Machine.head(206, ("Content-Range", "bytes \(start)-\(size - 1)/\(size)"), ("ETag", tag))
    }

    private static func part() throws -> (record: PartRecord, length: Int64) {
        var part = try Machine.part()
        part.total = size
        return (part, 900_000_000)
    }

    @Test func aNewResumableVersionMakesProgress() throws {
        var machine = try Machine.machine(retries: 1, part: try Self.part())
        #expect(Machine.words(machine.begin()) == "a; Range: bytes=900000000-; If-Range: \"x\"")
        #expect(machine.answered(Self.whole("\"y\""), at: Machine.now).dropsPart)
        for length in stride(from: Self.step, through: 20 * Self.step, by: Int(Self.step)) {
            #expect(
                Machine.words(machine.interrupted(Machine.lost, length: length))
                    == "a; Range: bytes=\(length)-; If-Range: \"y\"")
            _ = machine.answered(Self.rest(from: length, "\"y\""), at: Machine.now)
        }
    }

    @Test func aNewVersionWithoutResumingMakesNone() throws {
        var machine = try Machine.machine(retries: 1, part: try Self.part())
        _ = machine.begin()
        let head = Machine.head(200, ("Content-Length", String(Self.size)))
        _ = machine.answered(head, at: Machine.now)
        #expect(Machine.words(machine.interrupted(Machine.lost, length: 1 << 20)) == "wait 500")
        _ = machine.waited()
        _ = machine.answered(head, at: Machine.now)
        #expect(
            Machine.words(machine.interrupted(Machine.lost, length: 2 << 20))
                == "fail connection-lost retryable")
    }

    /// Every answer with a body is a new version, which breaks after it made progress; requests for
    /// the rest get the answers to `rest`, or a new version where there are none.
    private func requests(
        _ names: [String], pinned: Bool = false, rest: Int? = nil
    ) throws -> Int? {
        var machine = try Machine.machine(names, pinned: pinned, retries: 3)
        var (action, version) = (machine.begin(), 0)
        for _ in 0..<1000 {
            switch action.next {
            case .wait: action = machine.waited()
            case .fail: return machine.requests
            case .request(let plan):
                if plan.asksRange, let rest {
                    action = machine.answered(Machine.head(rest), at: Machine.now)
                    continue
                }
                version += 1
                _ = machine.answered(Self.whole("\"\(version)\""), at: Machine.now)
                action = machine.interrupted(Machine.lost, length: 2 * Self.step)
            default: Issue.record("an unexpected step")
            }
        }
        return nil
    }

    @Test(arguments: [["a"], ["a", "b"], ["a", "b", "c"]], [nil, 503, 500])
    func endlessVersionsAreNotAskedForEndlessly(names: [String], rest: Int?) throws {
        for pinned in [false, true] {
            let requests = try #require(try requests(names, pinned: pinned, rest: rest))
            #expect(requests <= names.count * 20)
        }
    }

    @Test func theErrorExplainsWhyAPartStopped() throws {
        var machine = try Machine.machine(pinned: true, retries: 100)
        let head = Machine.head(200, ("Content-Length", "1000000"))
        _ = machine.begin()
        _ = machine.answered(head, at: Machine.now)
        _ = machine.bodyEnded(length: 1_000_000)
        let wrong = try #require(Machine.wrong)
        var action = machine.checked(size: 1_000_000, digests: [wrong])
        for _ in 1...3 {
            #expect(Machine.words(action) == "a; Cache-Control: no-cache")
            _ = machine.answered(head, at: Machine.now)
            action = machine.interrupted(Machine.lost, length: 900_000)
            if case .wait = action.next { action = machine.waited() }
        }
        guard case .fail(let error) = action.next else {
            Issue.record("it went on")
            return
        }
        #expect(!error.message.contains("sha256 in the manifest"))
        #expect(error.message.contains("go on only under a strong validator"))
    }

    @Test func aHugeTotalIsNoDownloadInVain() throws {
        var machine = try Machine.machine(retries: 2)
        let head = Machine.head(200, ("Content-Length", String(Int64.max)))
        _ = machine.begin()
        for next in ["a", "wait 500"] {
            _ = machine.answered(head, at: Machine.now)
            #expect(Machine.words(machine.interrupted(Machine.lost, length: 1 << 40)) == next)
        }
    }

    @Test func aCleanDownloadUnderAValidatorGoesOn() throws {
        var machine = try Machine.machine(pinned: true, retries: 1)
        let head = Self.whole("\"x\"", size: 1_000_000)
        _ = machine.begin()
        _ = machine.answered(head, at: Machine.now)
        _ = machine.bodyEnded(length: 1_000_000)
        _ = machine.checked(size: 1_000_000, digests: [try #require(Machine.wrong)])
        _ = machine.answered(head, at: Machine.now)
        for length in stride(from: Int64(100_000), to: 1_000_000, by: 100_000) {
            #expect(
                Machine.words(machine.interrupted(Machine.lost, length: length))
                    == "a; Range: bytes=\(length)-; If-Range: \"x\"; Cache-Control: no-cache")
            let range = ("Content-Range", "bytes \(length)-999999/1000000")
            _ = machine.answered(Machine.head(206, range, ("ETag", "\"x\"")), at: Machine.now)
        }
    }
}
