/// The file that a transfer is to fetch: what is known of it before the first request.
struct WantedFile: ~Copyable, Sendable {
    let target: Target
    /// Whether the first request is a POST; its response is never resumed, nor asked for again.
    let isPost: Bool
    let expectation: Expectation
    let policy: TransferPolicy
    /// The version at the target, which a server may confirm; nil for a POST.
    let local: LocalVersion?

    /// The version that the bytes of a response belong to.
    func identity(of reception: Reception) -> PartIdentity {
        if isPost { return .anonymous }
        if let pin = expectation.pin { return .digest(pin) }
        guard let strong = reception.answer.validators.strong else { return .anonymous }
        return .version(reception.answer.provenance, strong)
    }
}
