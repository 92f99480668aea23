/// The meaning of a sync's exit code for its watch.
package enum WatchVerdict {
    /// Whether the first sync of a watch shows that none of them can succeed.
    ///
    /// Such failures are a usage error, an invalid or missing manifest, an unusable root, and an
    /// index of a newer mirror. Whoever starts a watch wants to know of them at once; later they
    /// may come and go while somebody works on the device.
    package static func isFinal(exit: Int32) -> Bool { [64, 65, 66, 70, 73, 78].contains(exit) }

    /// Whether an early retry may succeed where this sync failed.
    ///
    /// A resource that failed for good (1) stays so until somebody changes something, and a run
    /// that somebody ended (130) must not begin again at once.
    package static func isMendable(exit: Int32) -> Bool { exit != 0 && exit != 1 && exit < 128 }
}
