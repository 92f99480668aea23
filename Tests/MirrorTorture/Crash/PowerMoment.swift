internal import Glibc
internal import MirrorTestSupport

/// How often what a cut can follow happened in a run so far.
struct PowerMeasure {
    let milliseconds: Int
    /// Calls that change something.
    private(set) var calls = 0
    /// Files that got their final names.
    private(set) var namings = 0
    /// Flushes of folders, or of all, after one.
    private(set) var folderFlushes = 0
    /// Reports of `done`.
    private(set) var reports = 0
    /// Whether the call that was taken last is the newest of these two.
    private(set) var isNaming = false
    private(set) var isFolderFlush = false

    init(milliseconds: Int) { self.milliseconds = milliseconds }

    /// Takes a call that is about to be made.
    mutating func take(_ call: TracedCommand.Call, _ command: TracedCommand) {
        calls += 1
        isNaming = false
        isFolderFlush = false
        switch call.name {
        case "renameat2", "linkat", "rename", "link":
            isNaming = command.names(of: call).last.map(PowerMeasure.isTarget) ?? false
        case "fsync": isFolderFlush = namings > 0 && call.file.map(PowerMeasure.isFolder) == true
        case "syncfs": isFolderFlush = namings > 0
        default: break
        }
        namings += isNaming ? 1 : 0
        folderFlushes += isFolderFlush ? 1 : 0
        reports += command.newLines().count { $0.contains("\"event\":\"done\"") }
    }

    private static func isTarget(_ path: String) -> Bool {
        ["/Documents/", "/Caches/", "/tmp/"].contains { path.contains($0) }
            && !path.hasSuffix(".part") && !path.contains(".mirror-")
    }

    private static func isFolder(_ path: String) -> Bool {
        Folder(path).status("").map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    }
}

/// When the power is cut.
///
/// A promotion is safe at any moment, or it is not at one of three: when a name is there and nothing
/// more, when the names are on the disk and what they stand for may not be, and when somebody was told.
/// Chance alone finds these among thousands of calls too seldom, so most cuts are made there.
enum PowerMoment: CustomStringConvertible {
    case time(Int)
    /// In front of a call.
    case call(Int)
    /// Right after a file got its final name.
    case naming(Int)
    /// Right after a folder was flushed in which one did.
    case folderFlush(Int)
    /// Right after a report.
    case report(Int)

    /// Draws one among those of a run.
    static func draw(_ measure: PowerMeasure, _ random: (Int) -> Int) -> PowerMoment {
        switch random(8) {
        case 0: .time(random(max(20, measure.milliseconds)))
        case 1, 2: .call(1 + random(max(1, measure.calls)))
        case 3: .naming(1 + random(max(1, measure.namings)))
        case 4, 5: .folderFlush(1 + random(max(1, measure.folderFlushes)))
        default: .report(1 + random(max(1, measure.reports)))
        }
    }

    /// Whether it is one at which something is known not to be on the disk.
    var isChosen: Bool {
        switch self {
        case .time, .call: false
        case .naming, .folderFlush, .report: true
        }
    }

    /// Whether the call that it is about is made before the cut.
    var followsItsCall: Bool {
        switch self {
        case .naming, .folderFlush: true
        case .time, .call, .report: false
        }
    }

    /// Whether a run is there.
    func hasCome(_ seen: PowerMeasure) -> Bool {
        switch self {
        case .time: false
        case .call(let number): seen.calls == number
        case .naming(let number): seen.isNaming && seen.namings == number
        case .folderFlush(let number): seen.isFolderFlush && seen.folderFlushes == number
        case .report(let number): seen.reports >= number
        }
    }

    var description: String {
        switch self {
        case .time(let time): "at \(time) ms"
        case .call(let number): "at call \(number)"
        case .naming(let number): "after naming \(number)"
        case .folderFlush(let number): "after flush \(number) of a folder"
        case .report(let number): "after report \(number)"
        }
    }
}
