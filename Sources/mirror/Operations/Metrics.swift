import MirrorKit

/// The numbers of a run in the text format of Prometheus
/// (https://prometheus.io/docs/instrumenting/exposition_formats/).
struct Metrics {
    var summary = Summary()
    var endedAt = Instant(seconds: 0)
    /// When a run last ended with exit 0. 0 means that no such run is known.
    ///
    /// An alert on the age must fire for a device that never succeeded, and no alert fires on a
    /// missing metric.
    var lastSuccess: Int64 = 0
    /// How many resources failed, by code.
    var failures: [FailureCode: Int] = [:]
    /// Files that the next sync asks about. `nil` means that their number is not known.
    var due: Int?
    /// Bytes that are free on the root's file system. `nil` means that they are not known.
    var freeBytes: Int64?

    /// The text of the metrics file.
    var text: String {
        var lines: [String] = []
        func gauge(_ name: String, _ help: String, _ values: [(labels: String, value: String)]) {
            if values.isEmpty { return }
            lines.append("# HELP mirror_\(name) \(help)")
            lines.append("# TYPE mirror_\(name) gauge")
            for (labels, value) in values { lines.append("mirror_\(name)\(labels) \(value)") }
        }
        func gauge(_ name: String, _ help: String, _ value: (some BinaryInteger)?) {
            gauge(name, help, value.map { [("", "\($0)")] } ?? [])
        }
        gauge("last_run_timestamp_seconds", "When the last run ended.", endedAt.seconds)
        gauge(
            "last_success_timestamp_seconds", "When a run last ended with exit 0.", lastSuccess)
        gauge("last_run_exit_code", "The exit code of the last run.", summary.exit)
        let seconds = Int64((summary.seconds * 1000).rounded())
        gauge(
            "last_run_duration_seconds", "How long the last run took.",
            [("", "\(seconds / 1000).\(padded(seconds % 1000))")])
        gauge(
            "received_bytes", "Body bytes that the last run received.", summary.bytesReceived)
        gauge("reused_bytes", "Bytes that the last run did not fetch again.", summary.bytesReused)
        gauge("requests", "Requests that the last run made.", summary.requests)
        gauge(
            "resources", "Resources of the last run by outcome.",
            Outcome.allCases.map { ("{outcome=\"\($0.rawValue)\"}", "\(summary[$0])") })
        gauge(
            "failures", "Resources that failed in the last run by code.",
            failures.sorted { $0.key.rawValue < $1.key.rawValue }
                .map { ("{code=\"\($0.key.rawValue)\"}", "\($0.value)") })
        gauge("stale_files", "Files that the last run could not confirm.", summary[.stale])
        gauge("due_files", "Files that the next run asks about or fetches.", due)
        gauge("free_bytes", "Free bytes on the file system of the root.", freeBytes)
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the time of the last success in the text of an earlier file.
    ///
    /// Returns nil if the text has no such time.
    static func lastSuccess(in text: String) -> Int64? {
        let name = "mirror_last_success_timestamp_seconds "
        return text.split(separator: "\n").first { $0.hasPrefix(name) }
            .flatMap { Int64($0.dropFirst(name.count)) }
    }

    private func padded(_ thousandths: Int64) -> String {
        String(String(thousandths + 1000).dropFirst())
    }
}
