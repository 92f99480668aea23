extension Manifest {
    /// Whether one of the first resources most likely needs a request; false says nothing.
    ///
    /// It does unless an option leaves it out, or its bytes are there without an index.
    ///
    /// - Parameter isEmpty: whether the root has no index yet.
    package func beginsWithRequests(inEmptyTree isEmpty: Bool) -> Bool {
        resources.prefix(64).contains { resource in
            resource.primary.url.scheme != .file
                && (isEmpty || resource.pin == nil && resource.refresh == .always)
        }
    }
}
