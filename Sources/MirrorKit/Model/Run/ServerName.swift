/// The key under which the index remembers the name that a server chose for a file.
///
/// It is a class to keep promotions small, because most of them have no such key.
final class ServerNameKey: Sendable {
    /// The manifest's name.
    let owner: String
    /// The folder that the manifest puts the file in.
    let folder: String
    /// The resource's primary source.
    let source: SourceURL

    init(owner: String, folder: String, source: SourceURL) {
        self.owner = owner
        self.folder = folder
        self.source = source
    }
}

extension Manifest {
    /// Returns the key for the name that a server chooses for a resource of this manifest.
    func serverNameKey(of resource: Resource) -> ServerNameKey {
        ServerNameKey(owner: owner, folder: resource.target.folder, source: resource.primary.url)
    }
}

extension Plan {
    /// Returns the key for the name of a step's file. Returns nil if the manifest gives the name.
    func serverNameKey(of step: Step) -> ServerNameKey? {
        guard isNamedByServer(step), let resource = resource(of: step) else { return nil }
        return manifests[step.manifest].serverNameKey(of: resource)
    }

    /// Returns the target of a received body whose name the manifest leaves to the server.
    ///
    /// The response's suggested name comes first, then the name in the URL.
    ///
    /// Throws `MirrorError` with `nameMissing` if neither gives a name, and with `obstructed` if
    /// the suggested name cannot be a target.
    func targetNamed(
        by body: ReceivedBody, for step: Step
    ) throws(MirrorError) -> Target {
        guard let url = resource(of: step)?.primary.url else { return step.target }
        guard let name = body.answer.suggestedName else {
            guard step.target.isProvisional(for: url) else { return step.target }
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
