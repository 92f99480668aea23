/// What is done with the bytes of a transfer under way.
public enum TransferStage: String, Sendable, Hashable, CaseIterable {
    /// They arrive.
    case receiving
    /// All are here, and are compared with what is declared of them.
    case verifying
    /// They are the right ones, and get their final name.
    case writing
}

/// Which of how many tries follows after a passing failure.
public struct RetryTries: Sendable, Hashable {
    /// The try that follows, from 2.
    public let next: Int
    /// How many tries there are without progress, with the first one.
    public let most: Int

    /// Takes the numbers.
    public init(next: Int, most: Int) { (self.next, self.most) = (next, most) }
}
