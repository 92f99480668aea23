/// Bytes that are received again, because no request can resume them.
extension TransferMachine {
    /// Fails a transfer that would receive its file a fourth time, because no byte can be resumed.
    mutating func failForWaste(_ refusal: Refusal) -> TransferAction? {
        guard let part, part.length > 0, !canGoOn(from: part) else { return nil }
        let total = knownTotal ?? greatestLength
        guard wasted + part.length > 2 * total else { return nil }
        var refusal = refusal
        refusal.cause +=
            "; \(ByteCount(wasted + part.length)) came of a file of \(ByteCount(total)), and its source "
            + "gives nothing by which a download could go on: a sha256 in the manifest would let it"
        let error = failure(refusal, isRetryable: true)
        sources[current].lastFailure = error
        return TransferAction(.fail(finalError(error)))
    }

    /// Whether the transfer must stay with the source that can resume its part.
    ///
    /// Another source would start over, and too many bytes were dropped already.
    var staysWithPart: Bool {
        guard let part, !isPinned(part), canGoOn(from: part) else { return false }
        return wasted + part.length > (knownTotal ?? greatestLength)
    }

    /// Whether any source could be asked for only the rest of the part.
    private func canGoOn(from part: PartState) -> Bool {
        sources.indices.contains { source in
            guard sources[source].ending == nil, sources[source].resumes else { return false }
            if isPinned(part) { return !bypassesCaches }
            return part.identity != .anonymous && part.validators.strong != nil
                && part.provenances.first?.source == sources[source].source.key
        }
    }
}

extension PartState {
    /// The reason why a whole file came where only the rest of this part was requested.
    ///
    /// Either the file is another one, or the server sends no ranges.
    func reasonToBeginAgain(_ reception: Reception) -> Refusal {
        let sent = reception.answer.validators
        let hasChanged =
            total != nil && reception.total != nil && total != reception.total
            || validators.entityTag != sent.entityTag
                && provenances.first == reception.answer.provenance
        return hasChanged
            ? Refusal(.sourceChanged, "the file changed at its source: the server sent it anew")
            : Refusal(.rangeIgnored, "the server sent the whole file where the rest was asked for")
    }
}
