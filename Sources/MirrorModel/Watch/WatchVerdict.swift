/// What the exit code of a sync means for the watch that made it.
package enum WatchVerdict {
    /// Whether the first sync of a watch shows that none of them can succeed.
    ///
    /// A usage error, a manifest that is none or is not there, a root that cannot be used, an index
    /// of a newer mirror: somebody who starts a watch wants to know at once. Later they may come and
    /// go while somebody works on the device.
    package static func isFinal(exit: Int32) -> Bool { [64, 65, 66, 70, 73, 78].contains(exit) }

    /// Whether a further sync may bring what this one did not, sooner than the next one would come.
    ///
    /// A resource that failed for good (1) stays as it is until somebody changes something, and whoever
    /// ended a run (130) does not want it again at once.
    package static func isMendable(exit: Int32) -> Bool { exit != 0 && exit != 1 && exit < 128 }
}
