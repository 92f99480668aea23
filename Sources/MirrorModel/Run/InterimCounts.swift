/// How far a run came that ended early.
extension Summary {
    /// How many resources ended as they should.
    public var finished: Int {
        resources - self[.skipped] - self[.interrupted] - self[.deferred] - self[.failed]
    }

    /// How many resources a further run has still to do, failed ones left out.
    public var unfinished: Int {
        self[.skipped] - deselected + self[.interrupted] + self[.deferred]
    }

    /// `64 done, 736 to go, 3 parts kept (41.0 MiB)`; only the first two are shown when they are 0.
    public var interimCounts: String {
        var words = ["\(finished) done"]
        if self[.failed] > 0 { words.append("\(self[.failed]) failed") }
        words.append("\(unfinished) to go")
        if parts > 0 { words.append("\(Counted(parts, "part")) kept (\(ByteCount(partBytes)))") }
        return words.joined(separator: ", ")
    }

    /// The one line that says what an interruption left.
    public var interruption: String {
        resources == 0
            ? "Interrupted before anything was fetched. Run again to go on."
            : "Interrupted: \(interimCounts). Run again to go on."
    }
}

extension PartRecord {
    /// How many of the part's bytes a later run can go on from, as far as the index knows.
    ///
    /// A part that nothing could recognise again keeps none: it is never resumed.
    public var resumableBytes: Int64 {
        if identity == .anonymous { return 0 }
        let front = milestones.last?.length ?? 0
        return extents.reduce(front) { sum, extent in
            let range = extent.range
            return sum.addingSaturated(max(0, range.upperBound - max(range.lowerBound, front)))
        }
    }
}
