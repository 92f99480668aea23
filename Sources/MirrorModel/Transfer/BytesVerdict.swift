/// The decision about the complete bytes of a transfer.
enum BytesVerdict: Sendable {
    /// They are the wanted ones, as far as can be told.
    case right(Verification)
    /// Their number is not the declared one.
    case wrongSize(Refusal)
    /// Their digest, or that of a piece, is not the declared one.
    case wrongDigest(Refusal)

    /// Compares the bytes with what was declared and sent; pieces were compared before.
    ///
    /// - Parameter digests: the digests of the whole file, one for each declared or sent algorithm
    ///   and sha256.
    init(
        size: Int64, digests: [Digest], piecesHold: Bool?, of file: borrowing WantedFile,
        _ bytes: borrowing BytesInHand
    ) {
        if let expected = file.expectation.size, expected != size {
            self = .wrongSize(
                Refusal(
                    .sizeMismatch,
                    "the file has \(Counted(size, "byte")), the manifest says \(expected)",
                    expected: String(expected), actual: String(size)))
        } else if let refusal = BytesVerdict.mismatch(digests, piecesHold, of: file, bytes) {
            self = .wrongDigest(refusal)
        } else {
            self = .right(BytesVerdict.verification(piecesHold, of: file, bytes))
        }
    }

    private static func verification(
        _ piecesHold: Bool?, of file: borrowing WantedFile, _ bytes: borrowing BytesInHand
    ) -> Verification {
        if file.expectation.pin != nil || piecesHold == true { return .digest }
        if file.expectation.size != nil || !file.expectation.digests.isEmpty
            || !bytes.sentDigests.isEmpty
        {
            return .size
        }
        return bytes.isFramed ? .size : .none
    }

    private static func mismatch(
        _ digests: [Digest], _ piecesHold: Bool?, of file: borrowing WantedFile,
        _ bytes: borrowing BytesInHand
    ) -> Refusal? {
        if let refusal = mismatch(digests, with: file.expectation.digests, of: "the manifest") {
            return refusal
        }
        // The server's statements about its bytes count only where the manifest does not prove
        // them.
        if file.expectation.pin == nil,
            let refusal = mismatch(digests, with: bytes.sentDigests, of: "the server")
        {
            return refusal
        }
        if piecesHold == false {
            return Refusal(.digestMismatch, "a piece does not have the digest in the manifest")
        }
        return nil
    }

    private static func mismatch(
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
}
