extension ResponseHead {
    /// The seconds for which the server asks to be left alone, from 0 (RFC 9110 §10.2.3).
    ///
    /// Nil when the server does not say. A date is compared with the response's own Date, so that a
    /// wrong local clock does no harm; only without a Date is it compared with `now`.
    public func retryAfter(now: Instant) -> Int64? {
        guard let text = single(.retryAfter) else { return nil }
        let isNumber = !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        if isNumber { return DecimalDigits.value(of: text.utf8) ?? .max }
        guard let until = HTTPDate(text) else { return nil }
        return max(0, until.seconds - (date?.seconds ?? now.seconds))
    }
}
