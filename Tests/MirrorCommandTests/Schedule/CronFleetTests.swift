@testable import MirrorKit
import Testing

@testable import mirror

/// Ten thousand devices on one crontab schedule: how many of them begin in the same minute.
@Suite struct CronFleetTests {
    private static let devices = 10_000

    /// The greatest number of devices whose line has the same times.
    private func peak(every: Int64, machine: (Int) -> String) throws -> Int {
        let period = try #require(SchedulePeriod(seconds: every))
        let manifest = try ManifestSource(argument: "https://origin.example/maps.json")
        var counts: [String: Int] = [:]
        for device in 0..<Self.devices {
            let offset = ScheduleBook.schedule(
                root: "/srv/maps", manifests: [manifest], every: every, manager: .cron,
                machine: machine(device)
            ).offset
            counts[try #require(period.cron(offset: offset)), default: 0] += 1
        }
        return counts.values.max() ?? 0
    }

    /// The lines of one period are as many as it has minutes; twice the mean is far beyond chance.
    @Test(arguments: [(3600, 60), (21_600, 360), (86_400, 1440), (604_800, 10_080)])
    func theMachineSpreadsAFleetOverThePeriod(every: Int64, minutes: Int) throws {
        let mean = Self.devices / minutes
        #expect(try peak(every: every) { "device-\($0)" } < 2 * mean + 12)
        #expect(try peak(every: every) { _ in "one image" } == Self.devices)
    }

    @Test func aMachineKeepsItsLine() { #expect(ScheduleBook.machine == ScheduleBook.machine) }
}
