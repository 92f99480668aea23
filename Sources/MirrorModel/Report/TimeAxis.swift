/// The marks of a time axis: at most five steps of a round length.
public struct TimeAxis: Sendable, Hashable {
    /// The marks in milliseconds, from 0.
    public let ticks: [Int64]
    private let step: Int64

    /// Takes the whole time in milliseconds, at least 1.
    public init(_ length: Int64) {
        let length = max(1, length)
        step = TimeAxis.steps.first { length / $0 <= 5 } ?? (length / 5 / day + 1) * day
        ticks = Array(stride(from: 0, through: length, by: Int(step)).map { Int64($0) })
    }

    /// The text at a mark, in the unit of the step.
    public func label(_ tick: Int64) -> String {
        if tick == 0 { return "0" }
        if step < 1000 {
            return step % 100 == 0 && step >= 100
                ? "\(tick / 1000).\(tick % 1000 / 100) s" : "\(tick) ms"
        }
        if step < minute { return "\(tick / 1000) s" }
        if step < hour { return "\(tick / minute) min" }
        return step < day ? "\(tick / hour) h" : "\(tick / day) d"
    }

    private static let steps: [Int64] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, minute,
        2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 3 * hour,
        6 * hour, 12 * hour, day,
    ]
}

private let minute: Int64 = 60_000
private let hour = 60 * minute
private let day = 24 * hour
