/// The exit codes, taken from sysexits(3) where it has a fitting one.
package enum ExitVerdict {
    /// The code for the failure that ended a run early.
    package static func code(for failure: FailureCode) -> Int32 {
        switch failure {
        case .usage: 64
        case .manifestInvalid: 65
        case .manifestUnreadable: 66
        case .internalError: 70
        case .rootUnusable: 73
        case .inputOutput, .noSpace: 74
        case .locked: 75
        case .deleteLimit, .spaceLimit, .transferLimit: 77
        case .indexNewer: 78
        default: failure.isRetryable ? 69 : 1
        }
    }

    /// The code for an error, which may be retryable though its kind is not in general.
    package static func code(for error: MirrorError) -> Int32 {
        let code = code(for: error.code)
        return code == 1 && error.isRetryable ? 69 : code
    }

    /// The code for a run that completed, or that a failure ended.
    ///
    /// A run that hit its deadline may succeed when it is repeated. A resource that failed for good
    /// before the deadline will not, so repeating the run would not help.
    package static func code(
        endedBy failure: FailureCode?, healing: Int, lasting: Int, stale: Int
    ) -> Int32 {
        let rest = code(healing: healing, lasting: lasting, stale: stale)
        guard let failure else { return rest }
        let end = code(for: failure)
        return end == 69 && rest == 1 ? 1 : end
    }

    /// The code for a run that completed.
    ///
    /// - Parameters:
    ///   - healing: failures of resources that are not optional and may heal by themselves.
    ///   - lasting: failures of resources that are not optional and will not.
    ///   - stale: files that could not be confirmed and that the caller does not accept.
    package static func code(healing: Int, lasting: Int, stale: Int) -> Int32 {
        if lasting > 0 { return 1 }
        return healing > 0 || stale > 0 ? 69 : 0
    }
}
