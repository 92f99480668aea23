/// Why a story could not begin.
public struct StoryFailure: Error, CustomStringConvertible {
    /// The reason.
    public let description: String

    /// Takes the reason.
    public init(_ description: String) { self.description = description }
}
