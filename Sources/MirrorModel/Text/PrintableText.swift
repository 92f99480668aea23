extension StringProtocol {
    /// The text with control and direction-changing characters written as `\u{…}`.
    ///
    /// Every text from a server or a manifest passes through this before it reaches a terminal.
    public var printable: String { Escaped(self).description }
}
