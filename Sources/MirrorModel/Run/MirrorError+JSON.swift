extension MirrorError {
    /// Writes the error's fields as members of an object.
    public func writeMembers(to json: inout JSONWriter) {
        json.member("code", code.rawValue)
        json.member("message", message)
        json.member("retryable", isRetryable)
        json.member("source", source)
        json.member("status", status)
        json.member("attempts", attempts)
        json.member("expected", expected)
        json.member("actual", actual)
        json.member("tried", tried)
    }
}
