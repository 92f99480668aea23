import Glibc
import Testing

@testable import MirrorKit

/// Options that a program writes as the command does.
@Suite struct OptionsFromTextTests {
    @Test func windowsAndABudgetAreRead() throws {
        let permission = try TransferPermission(windows: "01:00-06:00", budget: "500MB/day")
        #expect(permission.windows == DailyWindows(text: "01:00-06:00"))
        #expect(permission.budget == TransferBudget(bytes: 500_000_000, period: .day))
        #expect(!permission.needsUnmeteredNetwork)
        #expect(try TransferPermission(windows: nil).isUnconditional)
    }

    @Test func aWrongTextIsRefused() {
        let window = #expect(throws: MirrorError.self) {
            try TransferPermission(windows: "25:00-26:00")
        }
        #expect(window?.code == .usage)
        #expect(window?.message.contains("25:00-26:00") == true)
        let budget = #expect(throws: MirrorError.self) {
            try TransferPermission(windows: nil, budget: "much/day")
        }
        #expect(budget?.code == .usage)
        #expect(budget?.message.contains("much/day") == true)
    }

    @Test func grantsHaveThisProcessesValues() throws {
        let home = try #require(getenv("PATH").map { String(cString: $0) })
        let secrets = try Secrets(granting: ["PATH@https://a.example", "NOT_SET_BY_ANYONE"])
        #expect(secrets.grants.map(\.name) == ["PATH", "NOT_SET_BY_ANYONE"])
        #expect(secrets.environment == ["PATH": home])
        let error = #expect(throws: MirrorError.self) { try Secrets(granting: ["1 2"]) }
        #expect(error?.code == .usage)
    }
}
