/// The decision about complete bytes.
extension TransferMachine {
    /// Decides about the hashed bytes; declared pieces were compared with their digests.
    ///
    /// - Parameter digests: the digests of the whole file, one for each declared or sent algorithm
    ///   and sha256.
    package mutating func checked(size: Int64, digests: [Digest], piecesHold: Bool? = nil)
        -> TransferAction
    {
        if let expected = expectation.size, expected != size {
            let refusal = Refusal(
                .sizeMismatch,
                "the file has \(Counted(size, "byte")), the manifest says \(expected)",
                expected: String(expected), actual: String(size))
            return end(refusal, dropsPart: true)
        }
        if let refusal = mismatch(digests, piecesHold) { return wrongBytes(refusal) }
        guard var answer else {
            return TransferAction(
                .fail(failure(Refusal(.internalError, "bytes without an answer"))))
        }
        if part?.isSegmented == true { answer = answer.with(ranges: .honoured) }
        return TransferAction(.accept(verification(piecesHold), answer))
    }

    private func verification(_ piecesHold: Bool?) -> Verification {
        if expectation.pin != nil || piecesHold == true { return .digest }
        if expectation.size != nil || !expectation.digests.isEmpty || !sentDigests.isEmpty {
            return .size
        }
        return isFramed ? .size : .none
    }

    private func mismatch(_ digests: [Digest], _ piecesHold: Bool?) -> Refusal? {
        if let refusal = mismatch(digests, with: expectation.digests, of: "the manifest") {
            return refusal
        }
        // The server's statements about its bytes count only where the manifest does not prove
        // them.
        if expectation.pin == nil,
            let refusal = mismatch(digests, with: sentDigests, of: "the server")
        {
            return refusal
        }
        if piecesHold == false {
            return Refusal(.digestMismatch, "a piece does not have the digest in the manifest")
        }
        return nil
    }

    private func mismatch(
        _ digests: [Digest], with expected: [Digest], of sayer: String
    ) -> Refusal? {
        for expected in expected {
            guard let actual = digests.first(where: { $0.algorithm == expected.algorithm }),
                actual != expected
            else { continue }
            return Refusal(
                .digestMismatch,
                "\(expected.algorithm.rawValue) is \(actual.hex), \(sayer) says \(expected.hex)",
                expected: expected.description, actual: actual.description)
        }
        return nil
    }

    private mutating func wrongBytes(_ refusal: Refusal) -> TransferAction {
        // A single bad connection of several, even to one source, may be to blame.
        let isBlameless =
            (part?.isOfOneGo == false || part?.isSegmented == true) && !wasCleaned
        if isBlameless, part?.isOfOneGo == true { sources[current].wrongBodies += 1 }
        let notice = TransferAction.Notice.restart(cause: failure(refusal), attempt: requests)
        forgetBytes()
        if isBlameless {
            wasCleaned = true
            bypassesCaches = true
            return TransferAction(request(), dropsPart: true, notice: notice)
        }
        sources[current].wrongBodies += 1
        bypassesCaches = sources.count == 1
        if sources.count == 1, sources[current].wrongBodies < 2 {
            return TransferAction(request(), dropsPart: true, notice: notice)
        }
        return end(refusal, dropsPart: true)
    }
}
