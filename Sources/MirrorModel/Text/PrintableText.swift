extension StringProtocol {
    /// The text with control characters, and what turns a line's direction, written as `\u{…}`.
    ///
    /// Whatever a server or a manifest says goes through this before a terminal sees it.
    public var printable: String { Escaped(self).description }
}
