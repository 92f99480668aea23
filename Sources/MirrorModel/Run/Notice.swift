/// Something that a caller should know although it ends nothing, such as the use of an old copy.
public struct Notice: Sendable, Hashable {
    /// A sentence for people.
    public var message: String
    /// What helps, if only the program has words for it; other advice ends the message.
    public var remedy: Remedy?

    /// Takes a sentence.
    public init(_ message: String, remedy: Remedy? = nil) {
        self.message = message
        self.remedy = remedy
    }
}
