extension Manifest {
    /// The URL of one of the first resources that most likely needs a request; nil says nothing.
    ///
    /// It does unless an option leaves it out, or its bytes are there without an index.
    ///
    /// - Parameter isEmpty: whether the root has no index yet.
    package func likelyRequest(inEmptyTree isEmpty: Bool) -> SourceURL? {
        resources.prefix(64).first { resource in
            resource.primary.url.scheme != .file
                && (isEmpty || resource.pin == nil && resource.refresh == .always)
        }?.primary.url
    }
}
