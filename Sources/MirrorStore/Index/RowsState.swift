package import MirrorModel
internal import Synchronization

/// Whether rows that a plan has read are still those of the index.
///
/// A run may rely on them while it is the only one that changes rows, and nothing has changed them since
/// they were read.
package final class RowsState: Sendable {
    private struct State {
        var mark = RowsMark()
        var runs = 0
    }

    private let state = Mutex(State())

    /// What a plan notes before it reads rows; nil while a run may change them.
    package var mark: RowsMark? { state.withLock { $0.runs == 0 ? $0.mark : nil } }

    /// Notes that a run begins. Returns its mark if the rows are those of the mark that its plan has.
    package func beginRun(since planned: RowsMark?) -> RowsMark? {
        state.withLock { state in
            let areSame = state.runs == 0 && state.mark === planned
            state.runs += 1
            state.mark = RowsMark()
            return areSame ? state.mark : nil
        }
    }

    /// Notes that a run has ended.
    package func endRun() {
        state.withLock { state in
            state.runs -= 1
            state.mark = RowsMark()
        }
    }

    /// Notes that rows change otherwise; before they do, and after.
    package func change() { state.withLock { $0.mark = RowsMark() } }

    /// Whether the rows are still those of a mark, but for what its own run changed.
    package func areThose(of mark: RowsMark?) -> Bool {
        guard let mark else { return false }
        return state.withLock { $0.mark === mark }
    }
}
