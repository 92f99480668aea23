public import MirrorModel

/// The permission to send one name's value to a server: `NAME@https://host`, or `NAME` alone.
public struct Grant: Sendable, Hashable {
    /// The name in `${NAME}`.
    public let name: String
    /// The origin that may get the value; nil permits any, as long as there is only one.
    ///
    /// Nil works only for a manifest on this machine.
    public let origin: Origin?

    /// Takes a name and an origin as they are.
    public init(name: String, origin: Origin?) {
        self.name = name
        self.origin = origin
    }

    /// Reads `NAME`, or `NAME@ORIGIN`.
    ///
    /// - Throws: `MirrorError` with the code `usage` when it is not of that form.
    public init(_ text: String) throws(MirrorError) {
        let halves = text.parts(at: "@", most: 2, keepingEmpty: true)
        let name = halves.first.map(String.init) ?? ""
        guard Template.isName(name) else {
            throw MirrorError(
                .usage, "\(Escaped(text, limit: 80)): \(Quoted(name)) names no variable.")
        }
        guard halves.count == 2 else {
            self.init(name: name, origin: nil)
            return
        }
        let form = "write \(name)@https://host, with its port where there is one"
        guard let url = try? SourceURL(String(halves[1])), url.path == "/", url.query == nil,
            url.userInfo == nil, url.scheme != .file
        else { throw MirrorError(.usage, "\(Escaped(text, limit: 80)): \(form).") }
        self.init(name: name, origin: url.origin)
    }
}
