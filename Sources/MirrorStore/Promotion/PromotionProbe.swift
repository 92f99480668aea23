internal import MirrorSystem

/// Points where tests reach into a promotion; in a run they do nothing.
package struct PromotionProbe: Sendable {
    /// Asked after a step; false ends everything there, as a power cut would.
    var goesOn: @Sendable (PromotionStep) -> Bool = { _ in true }
    /// Whether names may be exchanged; false is a file system that cannot.
    var allowsExchange = true
    /// Whether files may be made without a name; false is a file system that cannot.
    var allowsUnnamedFiles = true
    /// An error that the next flush of bytes, or of the whole file system, gives; nil flushes.
    var flushError: @Sendable () -> Errno? = { nil }
    /// An error that the look at a target gives once it has its new bytes; nil looks.
    var lookError: @Sendable () -> Errno? = { nil }
}
