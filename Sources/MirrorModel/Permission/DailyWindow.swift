/// A part of every day in local time, as `01:00-06:00`.
///
/// A window that ends before it begins goes over midnight: `22:00-06:00`.
public struct DailyWindow: Sendable, Hashable, CustomStringConvertible {
    /// Where it begins, in minutes since midnight, 0 … 1439.
    package let start: Int
    /// Where it ends, in minutes since midnight, 1 … 1440.
    package let end: Int

    /// Reads `HH:MM-HH:MM`; nil for anything else, and for a window without length.
    ///
    /// `24:00` is the end of the day.
    public init?(text: some StringProtocol) {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let start = DailyWindow.minute(ends[0]),
            let end = DailyWindow.minute(ends[1]), start < 1440, start != end
        else { return nil }
        self.start = start
        self.end = end == 0 ? 1440 : end
        if self.start == 0, self.end == 1440 { return }
        guard self.start != self.end else { return nil }
    }

    /// Whether a minute of the day lies in it; the minute of its end does not.
    package func contains(minute: Int) -> Bool {
        if start < end { return (start..<end).contains(minute) }
        return minute >= start || minute < end
    }

    /// The window as it is read.
    public var description: String { "\(DailyWindow.text(start))-\(DailyWindow.text(end))" }

    private static func text(_ minute: Int) -> String {
        "\(padded(Int64(minute / 60), 2)):\(padded(Int64(minute % 60), 2))"
    }

    private static func minute(_ text: some StringProtocol) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 }),
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39) ~= $0 } }),
            let hour = Int(parts[0]), let minute = Int(parts[1]), minute < 60
        else { return nil }
        let total = hour * 60 + minute
        return total <= 1440 ? total : nil
    }
}

/// The parts of a day in which transfers may run, as `01:00-06:00,12:00-13:00`.
public struct DailyWindows: Sendable, Hashable, CustomStringConvertible {
    /// The windows, as they were given.
    package let windows: [DailyWindow]

    /// Reads windows with commas between them; nil for anything else.
    public init?(text: String) {
        var windows: [DailyWindow] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let window = DailyWindow(text: part.trimmingSpaces()) else { return nil }
            windows.append(window)
        }
        self.windows = windows
    }

    /// Whether a minute of the day lies in one of them.
    package func contains(minute: Int) -> Bool { windows.contains { $0.contains(minute: minute) } }

    /// When the next of them begins.
    package func opening(after now: Instant, _ offset: LocalOffset) -> Instant {
        windows.map { offset.next(minute: $0.start, after: now) }.min() ?? now
    }

    /// When the next of them begins or ends.
    package func change(after now: Instant, _ offset: LocalOffset) -> Instant? {
        windows.flatMap { [$0.start, $0.end] }.map { offset.next(minute: $0, after: now) }.min()
    }

    /// The windows as they are read.
    public var description: String { windows.map(\.description).joined(separator: ",") }
}
