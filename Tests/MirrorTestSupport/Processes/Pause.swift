internal import Glibc

/// Waiting for what another process does; never for what a test could be told.
public enum Pause {
    /// Sleeps.
    public static func milliseconds(_ count: Int) { usleep(UInt32(clamping: count * 1000)) }
}
