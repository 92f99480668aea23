import Testing

@testable import MirrorKit

/// Which requests a pause may break off, and what is asked for after it.
@Suite struct PausedTransferMachineTests {
    typealias Machine = TransferMachineTests

    private func receiving(
        _ fields: [(String, String)], isPost: Bool = false, pinned: Bool = false
    ) throws -> TransferMachine {
        var machine = try Machine.machine(isPost: isPost, pinned: pinned, retries: 0)
        _ = machine.begin()
        _ = machine.answered(ResponseHead(status: 200, fields), at: Machine.now)
        return machine
    }

    @Test func aBodyUnderAValidatorGoesOnLater() throws {
        var machine = try receiving([("Content-Length", "10"), ("ETag", "\"x\"")])
        let isFree = machine.mayBreakOff(held: 4)
        #expect(isFree)
        #expect(
            Machine.words(machine.brokenOff(length: 4)) == "a; Range: bytes=4-; If-Range: \"x\"")
        #expect(Machine.words(machine.answered(Machine.rest, at: Machine.now)) == "receive 4")
        #expect(Machine.words(machine.bodyEnded(length: 10)) == "check")
    }

    @Test func aRequestWithoutAnAnswerIsMadeAgain() throws {
        var machine = try Machine.machine(retries: 0)
        _ = machine.begin()
        let isFree = machine.mayBreakOff(held: 0)
        #expect(isFree)
        #expect(Machine.words(machine.brokenOff(length: nil)) == "a")
    }

    @Test func unresumableBodiesAreNotBrokenOff() throws {
        let (length, tag) = (("Content-Length", "10"), ("ETag", "\"x\""))
        func mayBreakOff(
            _ fields: (String, String)..., isPost: Bool = false, pinned: Bool = false,
            held: Int64 = 4
        ) throws -> Bool {
            let machine = try receiving([length] + fields, isPost: isPost, pinned: pinned)
            return machine.mayBreakOff(held: held)
        }
        #expect(try !mayBreakOff())
        #expect(try !mayBreakOff(("ETag", "W/\"x\"")))
        #expect(try !mayBreakOff(tag, ("Accept-Ranges", "none")))
        #expect(try !mayBreakOff(tag, isPost: true, held: 0))
        // It ends by itself.
        #expect(try !mayBreakOff(tag, held: 10))
        #expect(try mayBreakOff(pinned: true))
        #expect(try mayBreakOff(held: 0))
    }
}
