internal import Glibc
internal import MirrorTestSupport

/// A clock, a language and a time zone for a program, and what a run needs to have them.
struct ClockSetting: Sendable {
    let name: String
    /// Seconds between the true time and the program's.
    let offset: Int
    /// Further variables.
    let environment: [String: String]
    /// Whether a certificate of today is valid by this clock.
    var certificatesAreValid: Bool { abs(offset) < 86_400 }

    /// Debian's libfaketime.
    private static let library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
    private static let years = 50 * 365 * 86_400 + 12 * 86_400

    /// Why the clock cannot be set on this machine; nil when it can.
    static var obstacle: String? {
        guard access(library, R_OK) == 0 else { return "no libfaketime" }
        // It asks the dynamic loader for the true clock, which asks for memory, which asks for it.
        if Sanitizers.areOn { return "libfaketime and a sanitizer wait for each other" }
        let words = ["LD_PRELOAD=" + library, "FAKETIME=-1577880000", "/bin/date", "+%Y"]
        let year = (try? Command.run("/usr/bin/env", words))?.output.trimmed ?? ""
        return year == "" || year > "1980" ? "libfaketime does not set the clock" : nil
    }

    /// All settings, the plain one first; languages are made in a folder (localedef(1)).
    static func all(languages: Folder) -> [ClockSetting] {
        let zone = ["TZ": "America/New_York"]
        let back = seconds(to: (2026, 11, 1, 5, 59, 58))
        let forward = seconds(to: (2027, 3, 14, 6, 59, 58))
        var settings = [
            ClockSetting(
                name: "now, C, UTC", offset: 0, environment: ["TZ": "UTC", "LC_ALL": "C"]),
            ClockSetting(name: "50 years ago", offset: -years, environment: [:]),
            ClockSetting(name: "in 50 years", offset: years, environment: [:]),
            ClockSetting(name: "New York, an hour twice", offset: back, environment: zone),
            ClockSetting(name: "New York, an hour left out", offset: forward, environment: zone),
        ]
        for language in ["tr_TR", "de_DE", "ja_JP"] {
            guard let variables = make(language, in: languages) else { continue }
            settings.append(
                ClockSetting(name: language + ".UTF-8", offset: 0, environment: variables))
        }
        if let turkish = settings.first(where: { $0.name.hasPrefix("tr") })?.environment {
            settings.append(
                ClockSetting(
                    name: "tr_TR.UTF-8, New York, 50 years ago", offset: -years,
                    environment: turkish.merging(zone) { old, _ in old }))
        }
        return settings
    }

    /// The words that start a program so many seconds later than a story's beginning; with a file,
    /// its content sets the clock while the program runs.
    func words(after seconds: Int, clock: String? = nil) -> [String] {
        // Monotonic clocks and the times of files stay true; only the wall clock is another.
        var all = environment
        all["LD_PRELOAD"] = ClockSetting.library
        all["DONT_FAKE_MONOTONIC"] = "1"
        all["NO_FAKE_STAT"] = "1"
        if let clock {
            all["FAKETIME_TIMESTAMP_FILE"] = clock
            all["FAKETIME_NO_CACHE"] = "1"
        } else {
            all["FAKETIME"] = text(after: seconds)
        }
        return ["/usr/bin/env"] + all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    }

    /// Waits for a program that was started so, and removes what libfaketime shares between processes: a
    /// program that ends without its exit handlers leaves it, and a later process of that number finds it.
    static func wait(for command: Command, seconds: Int = 60) -> Command.Result {
        defer {
            unlink("/dev/shm/faketime_shm_\(command.pid)")
            unlink("/dev/shm/sem.faketime_sem_\(command.pid)")
        }
        return command.wait(seconds: seconds)
    }

    /// What libfaketime reads as an offset.
    func text(after seconds: Int) -> String {
        let sum = offset + seconds
        return sum < 0 ? String(sum) : "+\(sum)"
    }

    /// What date(1) shows of the clock so many seconds after a story's beginning, in UTC.
    func now(after seconds: Int) -> Int { time(nil) + offset + seconds }

    private static func seconds(to moment: (Int32, Int32, Int32, Int32, Int32, Int32)) -> Int {
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (moment.0 - 1900, moment.1 - 1, moment.2)
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (moment.3, moment.4, moment.5)
        return timegm(&parts) - time(nil)
    }

    /// Makes a locale; nil where its sources are not installed.
    private static func make(_ language: String, in folder: Folder) -> [String: String]? {
        let name = language + ".UTF-8"
        let words = ["-i", language, "-f", "UTF-8", folder.full(name)]
        _ = try? Command.run("/usr/bin/localedef", words)
        let variables = ["LOCPATH": folder.path, "LC_ALL": name, "LANG": name]
        let said = try? Command.run("/usr/bin/locale", ["charmap"], environment: variables)
        return said?.output.trimmed == "UTF-8" ? variables : nil
    }
}
