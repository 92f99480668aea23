import MirrorModel

/// Progress for an output that rewrites nothing in place: a line now and then.
extension FrameLayout {
    /// The lines, whole at any width.
    func plainLines(now: Instant) -> [String] {
        guard let stage else { return [board.outage.line(at: now), plainTotal].compactMap { $0 } }
        var text = stage.words
        let activity = stage.activity
        if let total = activity.total, total > 0 {
            text += ": \(activity.done) of \(Counted(total, "file"))"
        }
        if activity.bytes > 0 {
            text += ", \(ByteCount(activity.bytes))"
            if let total = activity.totalBytes {
                text += " of \(ByteCount(max(total, activity.bytes)))"
            }
        }
        if let seconds = stage.secondsLeft, seconds > 0 {
            text += ", \(DurationText(seconds: seconds)) left"
        }
        return [text]
    }

    /// One line about the transfers of the whole: number, bytes, rate, time left.
    var plainTotal: String {
        let totals = board.totals
        var text = "\(totals.ended) of \(Counted(totals.transfers, "transfer"))"
        text += ", \(ByteCount(totals.bytes))"
        if totals.expectedBytes > 0 {
            text += " of \(ByteCount(max(totals.expectedBytes, totals.bytes)))"
            if totals.unknownSizes > 0 { text += " + \(totals.unknownSizes) of unknown size" }
        }
        if totals.failed > 0 { text += ", \(totals.failed) failed" }
        if totals.rate > 0 { text += ", \(ByteCount(totals.rate))/s" }
        if let seconds = totals.secondsLeft, seconds > 0 {
            text += ", \(DurationText(seconds: seconds)) left"
        }
        return text
    }
}
