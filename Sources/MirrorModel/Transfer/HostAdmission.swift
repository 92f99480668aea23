/// Whether a transfer that has a place may ask a host now.
package enum HostAdmission: Sendable {
    /// It may; its place is at that host now.
    case ask
    /// It has to wait for a place there.
    case waits
    /// The host does not answer: a transfer with another source should go there.
    case elsewhere
    /// The host asked to be left alone for `milliseconds`, which is too long to wait.
    case refused(milliseconds: Int64)
    /// The host is not asked any more in this run.
    case down(Outage)
}
