extension Plan {
    /// The target of a body whose name the manifest leaves to the server.
    ///
    /// The response's suggested name comes first, then the name in the URL.
    ///
    /// Throws `MirrorError` with `nameMissing` and `obstructed`.
    package func targetNamed(
        by body: ReceivedBody, for step: Step
    ) throws(MirrorError) -> Target {
        guard let url = resource(of: step)?.primary.url else { return step.target }
        guard let name = body.answer.suggestedName else {
            guard ProvisionalName.isOf(step.target, url) else { return step.target }
            throw MirrorError(
                .nameMissing,
                "\(step.target.folder)/: \(url) ends in no name, and the server gives none. Write the file's name in path.",
                target: step.target)
        }
        do {
            return try step.target.sibling(named: name)
        } catch {
            throw MirrorError(
                .obstructed,
                "\(step.target): the server suggests a name that cannot be a target: \(Quoted(name)). Give the resource a path with a name.",
                target: step.target)
        }
    }
}
