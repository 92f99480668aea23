/// When transfers may run: hours of the day, networks, a budget of bytes.
///
/// Urgent resources ignore the permission.
public struct TransferPermission: Sendable, Hashable {
    /// The hours in which transfers may run. `nil` means all day.
    package var windows: DailyWindows?
    /// Whether transfers wait for a network that is not metered.
    public var needsUnmeteredNetwork = false
    /// How many bytes may arrive in a period. `nil` means no limit.
    package var budget: TransferBudget?

    /// Creates a permission without conditions: transfers may always run.
    public init() {}

    /// Reads a permission as the options `--window` and `--budget` have it.
    ///
    /// Throws `MirrorError` with `usage` for a text of another form.
    ///
    /// - Parameters:
    ///   - windows: times of day, such as `01:00-06:00,12:00-13:00`. `nil` permits all.
    ///   - budget: bytes and a period, such as `2GB/day`. `nil` means no limit.
    public init(
        windows: String?, budget: String? = nil, needsUnmeteredNetwork: Bool = false
    ) throws(MirrorError) {
        if let windows {
            guard let read = DailyWindows(text: windows) else {
                throw MirrorError(
                    .usage,
                    "\(Quoted(windows)) is no window; write HH:MM-HH:MM, with commas between.")
            }
            self.windows = read
        }
        if let budget {
            guard let read = TransferBudget(text: budget) else {
                throw MirrorError(
                    .usage, "\(Quoted(budget)) is no budget; write 500MB/day or 2GB/month.")
            }
            self.budget = read
        }
        self.needsUnmeteredNetwork = needsUnmeteredNetwork
    }

    /// Whether transfers may always run.
    public var isUnconditional: Bool { self == TransferPermission() }

    /// Returns why mirror may fetch nothing at an instant. Returns nil if it may fetch.
    ///
    /// - Parameters:
    ///   - isMetered: whether the network is metered.
    ///   - spent: bytes of the budget that have been spent in its period.
    func deferral(
        at now: Instant, _ offset: LocalOffset, isMetered: Bool, spent: Int64
    ) -> Deferral? {
        if let windows, !windows.contains(minute: offset.minute(of: now)) {
            return .outsideWindow(opens: windows.opening(after: now, offset))
        }
        if needsUnmeteredNetwork, isMetered { return .meteredNetwork }
        if let budget, spent >= budget.bytes {
            return .budgetSpent(renews: budget.renewal(after: now, offset))
        }
        return nil
    }

    /// Returns the next instant at which the clock alone may change the deferral.
    /// `nil` means never.
    func change(after now: Instant, _ offset: LocalOffset) -> Instant? {
        let changes = [
            windows?.change(after: now, offset), budget?.renewal(after: now, offset),
        ]
        return changes.compactMap { $0 }.min()
    }
}

/// Whether transfers may run at the moment, and what is left of a budget.
package struct PermissionStatus: Sendable, Hashable {
    /// A budget in its present period.
    struct Budget: Sendable, Hashable {
        /// The greatest number of bytes in one period.
        var bytes: Int64
        /// Bytes that have arrived in this period.
        var spent: Int64
        /// When the next period begins.
        var renews: Instant

        /// Bytes that may still arrive in this period.
        var left: Int64 { max(0, bytes - spent) }
    }

    /// Why mirror may fetch nothing now. `nil` means that it may fetch.
    package var deferral: Deferral?
    /// The end of the window for which the deferral waits.
    ///
    /// `nil` means that the deferral waits for no window.
    package var windowCloses: Instant?
    /// The budget. `nil` means that there is none.
    var budget: Budget?

    /// Creates the status of a permission at an instant.
    init(
        of permission: TransferPermission, at now: Instant, _ offset: LocalOffset,
        isMetered: Bool, account: BudgetAccount?
    ) {
        let spent =
            permission.budget.map {
                account?.current($0, at: now, offset).spent ?? 0
            } ?? 0
        deferral = permission.deferral(at: now, offset, isMetered: isMetered, spent: spent)
        if case .outsideWindow(let opens) = deferral {
            windowCloses = permission.windows?.change(after: opens, offset)
        }
        budget = permission.budget.map {
            Budget(bytes: $0.bytes, spent: spent, renews: $0.renewal(after: now, offset))
        }
    }

    /// The status as sentences for messages.
    package func sentences(on clock: LocalClock) -> [String] {
        var sentences: [String] = []
        if let deferral {
            let because = Reason.deferred(deferral).because(on: clock)
            sentences.append("A sync now would defer what is not urgent: \(because).")
        }
        if let budget {
            sentences.append(
                "Budget: \(ByteCount(budget.left)) of \(ByteCount(budget.bytes)) left until \(clock.time(of: budget.renews))."
            )
        }
        return sentences
    }

    /// Writes the status as members of a JSON object.
    func writeMembers(to json: inout JSONWriter) {
        json.member("deferred", deferral.map { Reason.deferred($0).code })
        json.member("until", deferral?.end?.rfc3339)
        json.member("budgetLeft", budget?.left)
        json.member("budgetRenews", budget?.renews.rfc3339)
    }
}

/// Why mirror may fetch nothing now.
package enum Deferral: Sendable, Hashable {
    /// The time is outside the permitted hours, which begin again at this instant.
    case outsideWindow(opens: Instant)
    /// The network is metered.
    case meteredNetwork
    /// The budget is spent. The next period begins at this instant.
    case budgetSpent(renews: Instant)
    /// A person paused the transfers until further notice.
    case paused

    /// When the deferral ends. `nil` means that the clock alone does not end it.
    var end: Instant? {
        switch self {
        case .outsideWindow(let opens): opens
        case .meteredNetwork, .paused: nil
        case .budgetSpent(let renews): renews
        }
    }
}

extension Deferral {
    /// Returns the reason in words. `words` turns an instant into text.
    func because(_ words: (Instant) -> String) -> String {
        switch self {
        case .outsideWindow(let opens): "outside the permitted hours until \(words(opens))"
        case .meteredNetwork: "the network is metered"
        case .paused: "somebody paused it"
        case .budgetSpent(let renews): "the budget is spent until \(words(renews))"
        }
    }
}

/// A part of every day in local time, as `01:00-06:00`.
///
/// A window that ends before it begins goes over midnight: `22:00-06:00`.
struct DailyWindow: Sendable, Hashable, CustomStringConvertible {
    /// The beginning of the window, in minutes since midnight, 0 … 1439.
    let start: Int
    /// The end of the window, in minutes since midnight, 1 … 1440.
    let end: Int

    /// Reads `HH:MM-HH:MM`. Returns nil for any other text, and for a window without length.
    ///
    /// `24:00` is the end of the day.
    init?(text: some StringProtocol) {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let start = DailyWindow.minute(ends[0]),
            let end = DailyWindow.minute(ends[1]), start < 1440, start != end
        else { return nil }
        self.start = start
        self.end = end == 0 ? 1440 : end
        if self.start == 0, self.end == 1440 { return }
        guard self.start != self.end else { return nil }
    }

    /// Whether the window contains a minute of the day. The window excludes its end.
    func contains(minute: Int) -> Bool {
        if start < end { return (start..<end).contains(minute) }
        return minute >= start || minute < end
    }

    /// The window as a text that `init(text:)` reads.
    var description: String { "\(DailyWindow.text(start))-\(DailyWindow.text(end))" }

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
package struct DailyWindows: Sendable, Hashable, CustomStringConvertible {
    /// The windows in the given order.
    let windows: [DailyWindow]

    /// Reads windows with commas between them. Returns nil for any other text.
    package init?(text: String) {
        var windows: [DailyWindow] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let window = DailyWindow(text: part.trimmingSpaces()) else { return nil }
            windows.append(window)
        }
        self.windows = windows
    }

    /// Whether one of the windows contains a minute of the day.
    func contains(minute: Int) -> Bool { windows.contains { $0.contains(minute: minute) } }

    /// Returns the instant at which the next window begins.
    func opening(after now: Instant, _ offset: LocalOffset) -> Instant {
        windows.map { offset.next(minute: $0.start, after: now) }.min() ?? now
    }

    /// Returns the instant at which the next window begins or ends.
    func change(after now: Instant, _ offset: LocalOffset) -> Instant? {
        windows.flatMap { [$0.start, $0.end] }.map { offset.next(minute: $0, after: now) }.min()
    }

    /// The windows as a text that `init(text:)` reads.
    package var description: String { windows.map(\.description).joined(separator: ",") }
}

/// The targets that are paused until further notice, or all of them.
package struct PausedTargets: Sendable, Hashable {
    /// Whether every target is paused.
    package private(set) var all = false
    /// Targets that are paused one by one.
    private(set) var targets: Set<Target> = []

    /// Creates a value that pauses nothing, or these targets.
    package init(all: Bool = false, _ targets: Set<Target> = []) {
        (self.all, self.targets) = (all, targets)
    }

    /// Whether nothing is paused.
    var isEmpty: Bool { !all && targets.isEmpty }

    /// Whether a target is paused.
    package func contains(_ target: Target) -> Bool { all || targets.contains(target) }

    /// Adds what another value pauses.
    mutating func formUnion(_ other: PausedTargets) {
        all = all || other.all
        targets.formUnion(other.targets)
    }

    /// Pauses a target. `nil` pauses all targets.
    mutating func pause(_ target: Target?) {
        if let target { targets.insert(target) } else { all = true }
    }

    /// Ends the pause of a target. `nil` ends all pauses.
    ///
    /// Returns false if there was no such pause. While all targets are paused, one alone cannot be
    /// resumed.
    mutating func resume(_ target: Target?) -> Bool {
        if let target { return targets.remove(target) != nil }
        defer { self = PausedTargets() }
        return !isEmpty
    }
}
