/// The reasons for which a transfer refuses bytes, or leaves a source, without a response that says
/// so.
extension Refusal {
    /// A host asked to be left alone for longer than a transfer waits; no request was made.
    static func heldOff(seconds: Int64, _ policy: TransferPolicy) -> Refusal {
        Refusal(
            .retryAfterTooLong,
            "the host asked to be left alone for another \(seconds) s, more than "
                + "\(policy.longestWait) s")
    }

    /// A response asks for more patience than a transfer has.
    func asking(forSeconds seconds: Int64, _ policy: TransferPolicy) -> Refusal {
        Refusal(
            .retryAfterTooLong,
            "\(cause) and asks for \(seconds) s of patience, more than \(policy.longestWait) s",
            status: status)
    }

    /// A host gave no answer in a whole ladder of tries.
    static func hostIsDown(_ host: String, _ outage: Outage) -> Refusal {
        let tries = outage.tries == 1 ? "a try" : "\(outage.tries) tries"
        return Refusal(
            outage.failure.code,
            "\(host) gave no answer in \(tries), and is not asked any more in this run: "
                + outage.failure.cause)
    }

    /// A response has more bytes than `limit`, which it announced or which is set.
    static func tooManyBytes(limit: Int64, isDeclared: Bool) -> Refusal {
        let cause =
            isDeclared
            ? "the server sends more than the announced \(Counted(limit, "byte"))"
            : "the file has more than \(Counted(limit, "byte")), which is the limit"
        return Refusal(isDeclared ? .sizeMismatch : .tooLarge, cause, expected: String(limit))
    }

    /// A body ended with another number of bytes than its response announced.
    static func wrongLength(_ length: Int64, of total: Int64) -> Refusal {
        Refusal(
            .sizeMismatch,
            "the file has \(Counted(length, "byte")), \(total) \(Counted.verb(total, "was", "were")) expected",
            expected: String(total), actual: String(length))
    }

    /// The same failure, of a transfer that received `wasted` bytes of a file in vain.
    ///
    /// - Parameter reason: why it could not go on where it was.
    func afterWaste(of wasted: Int64, total: Int64, _ reason: String) -> Refusal {
        var refusal = self
        refusal.cause +=
            "; \(ByteCount(wasted)) came of a file of \(ByteCount(total)), and " + reason
        return refusal
    }
}
