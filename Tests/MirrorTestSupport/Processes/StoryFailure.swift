/// Why a story could not begin.
public struct StoryFailure: Error, CustomStringConvertible {
    public let description: String

    /// Takes the reason.
    public init(_ description: String) { self.description = description }
}
