@testable import MirrorKit
import Testing

/// The exit code that follows from what happened.
@Suite struct ExitCodeTests {
    @Test(arguments: FailureCode.allCases) func everyFailureCodeHasItsExitCode(failure: FailureCode)
    {
        let expected: Int32 =
            switch failure {
            case .usage: 64
            case .manifestInvalid: 65
            case .manifestUnreadable: 66
            case .nameNotResolved, .connectFailed, .connectionLost, .stalled, .offline,
                .retryAfterTooLong, .deadline, .cancelled, .sourceChanged, .rangeIgnored, .noRun:
                69
            case .internalError: 70
            case .rootUnusable: 73
            case .inputOutput, .noSpace: 74
            case .locked: 75
            case .deleteLimit, .spaceLimit, .transferLimit: 77
            case .indexNewer: 78
            default: 1
            }
        #expect(failure.exitCode == expected)
        #expect(
            Summary.exitCode(endedBy: failure, healing: 1, lasting: 0, stale: 1) == expected)
    }

    @Test(
        arguments: [
            (0, 0, 0, 0), (1, 0, 0, 69), (0, 0, 1, 69), (0, 1, 0, 1), (1, 1, 1, 1), (9, 0, 9, 69),
        ] as [(Int, Int, Int, Int32)])
    func lastingFailuresOutweighPassingOnes(
        healing: Int, lasting: Int, stale: Int, code: Int32
    ) {
        #expect(Summary.exitCode(healing: healing, lasting: lasting, stale: stale) == code)
        #expect(
            Summary.exitCode(endedBy: nil, healing: healing, lasting: lasting, stale: stale)
                == code)
    }

    @Test(
        arguments: [
            (nil, 0, 0, 77), (nil, 1, 0, 77), (nil, 0, 1, 1), (.deadline, 0, 0, 77),
            (.noSpace, 0, 0, 74),
        ] as [(FailureCode?, Int, Int, Int32)])
    func aLackOfRoomIsALimit(end: FailureCode?, healing: Int, lasting: Int, code: Int32) {
        #expect(
            Summary.exitCode(
                endedBy: end, healing: healing, lasting: lasting, stale: 0, withoutRoom: 1)
                == code)
    }

    @Test func aFullDiskOutweighsOtherFailures() {
        #expect(
            Summary.exitCode(healing: 1, lasting: 1, stale: 0, withoutRoom: 1, ofFullDisk: 1) == 74)
    }

    @Test func aDeadlineHidesNoLastingFailure() {
        #expect(Summary.exitCode(endedBy: .deadline, healing: 3, lasting: 1, stale: 0) == 1)
        #expect(Summary.exitCode(endedBy: .noSpace, healing: 0, lasting: 1, stale: 0) == 74)
        #expect(Summary.exitCode(endedBy: .transferLimit, healing: 0, lasting: 1, stale: 0) == 77)
    }
}
