/// A state of the index's rows; another one is another object.
package final class RowsMark: Sendable {
    /// A new state.
    package init() {}
}
