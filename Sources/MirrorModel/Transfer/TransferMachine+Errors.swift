/// The errors of a transfer: the sentence with its cause and source, and the advice at its end.
extension TransferMachine {
    /// The sources that requests went to, in order.
    private var tried: [Int] { left + (asked.map { [$0] } ?? []) }

    /// The error of a refusal, with its source, and without advice.
    func failure(_ refusal: Refusal, isRetryable: Bool? = nil) -> MirrorError {
        let source = sources[current].source.url.description
        var error = MirrorError(
            refusal.code, "\(target): \(refusal.cause) (from \(source)).", target: target)
        error.source = source
        error.status = refusal.status
        error.attempts = requests
        error.expected = refusal.expected
        error.actual = refusal.actual
        error.tried = tried.map { sources[$0].source.url.description }
        if let isRetryable { error.isRetryable = isRetryable }
        return error
    }

    /// The one error that stands for all sources.
    ///
    /// It is one that may heal, otherwise a wrong digest, otherwise the last.
    func finalError(_ last: MirrorError) -> MirrorError {
        let errors = sources.compactMap { $0.ending ?? $0.lastFailure }
        var error =
            errors.first { $0.isRetryable } ?? errors.first { $0.code == .digestMismatch } ?? last
        error.attempts = requests
        error.tried = tried.reduce(into: [Int]()) { if !$0.contains($1) { $0.append($1) } }
            .map { sources[$0].source.url.description }
        error.message += nextStep(error)
        return error
    }

    /// The advice at the end of the sentence: it holds for every program, so it is no `Remedy`.
    private func nextStep(_ error: MirrorError) -> String {
        let count = Set(tried).count
        let scope = count > 1 ? " None of \(count) sources gave the file." : ""
        if error.isRetryable { return scope + " Run again later." }
        switch error.code {
        case .digestMismatch, .sizeMismatch:
            return scope + " The bytes were dropped; correct the manifest if the file is right."
        case .httpStatus, .redirectRefused, .tooManyRedirects: return scope + " Check the URL."
        case .tooLarge: return scope + " Raise the limit, or declare the size."
        default: return scope
        }
    }
}
