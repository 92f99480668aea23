extension Manifest {
    /// Whether one of the first resources needs a request, whatever the plan will be; false says nothing.
    ///
    /// - Parameter isEmpty: whether neither the tree nor the index has anything.
    package func beginsWithRequests(inEmptyTree isEmpty: Bool) -> Bool {
        resources.prefix(64).contains { resource in
            resource.primary.url.scheme != .file
                && (isEmpty || resource.pin == nil && resource.refresh == .always)
        }
    }
}
