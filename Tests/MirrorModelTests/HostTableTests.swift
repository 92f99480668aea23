import Testing

@testable import MirrorKit

@Suite struct HostTableTests {
    /// Hosts at which transfers wait for minutes would else be entered again and again.
    @Test func onlyHostsWhoseNumbersChangedAreConsideredAnew() throws {
        var table = HostTable(
            perHost: nil, jobs: 2, policy: TransferPolicy(retries: 7, maxWait: .seconds(300)),
            remembered: [:], jitter: { $0 })
        for number in 0..<250 {
            _ = table.number(of: try Dispatching.host("h\(number)"), now: 0)
        }
        var changed = 0
        for now in stride(from: Int64(0), through: 600_000, by: 250) {
            changed += table.measure(now: now).count
        }
        #expect(changed <= 2 * 250)
    }
}
