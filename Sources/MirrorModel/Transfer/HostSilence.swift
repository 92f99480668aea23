/// The meaning of a failure without an answer for the host.
package enum HostSilence: Sendable {
    /// No meaning: the host answers others.
    case ofTransfer
    /// The next try at the host comes in `milliseconds`, from any transfer.
    case ofHost(milliseconds: Int64)
    /// The host is not asked any more in this run.
    case forGood(Outage)
}
