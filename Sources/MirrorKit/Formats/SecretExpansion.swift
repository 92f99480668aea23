/// Replaces `${NAME}` with its value, for the granted origins only.
///
/// The whole manifest is checked before the first request, so that filling in values does not fail
/// later. Values, and texts made from them, are never printed.
struct SecretExpansion: Sendable {
    private let grants: [Grant]
    private let values: [String: String]

    /// Looks up the granted names: in the environment, else as a file in the credentials folder.
    ///
    /// - Parameter credential: returns the content of `$CREDENTIALS_DIRECTORY/NAME`, or nil if
    ///   there is no such file. A line break at its end is left out.
    init(
        grants: [Grant], environment: [String: String],
        credential: (String) -> String? = { _ in nil }
    ) {
        self.grants = grants
        var values: [String: String] = [:]
        for grant in grants {
            let value =
                environment[grant.name].flatMap { $0.isEmpty ? nil : $0 }
                ?? credential(grant.name).map(SecretExpansion.withoutLineBreak)
            if let value, !value.isEmpty { values[grant.name] = value }
        }
        self.values = values
    }

    /// Checks every use of a name in a manifest.
    ///
    /// - Parameter onlyOrigins: for each name that was granted without an origin, the one that gets
    ///   it. All manifests of a run share this.
    /// - Throws: `ManifestError` that lists once each name that has no grant, is unset or empty, or
    ///   is meant for another origin.
    func check(
        _ manifest: Manifest, label: String, isLocal: Bool,
        onlyOrigins: inout [String: Origin]
    ) throws(ManifestError) {
        let log = DiagnosticLog(file: label)
        var check = SecretCheck(
            log: log, grants: grants, values: values, allowsBareGrants: isLocal,
            onlyOrigins: onlyOrigins)
        defer { onlyOrigins = check.onlyOrigins }
        let resources = manifest.resources
        for position in resources.indices where resources.hasVariables(at: position) {
            check.visit(resources[position])
        }
        if let refusal = log.refusal { throw refusal }
    }

    /// Returns the headers of a source with values filled in. The manifest has been checked.
    func headers(of source: Source) -> [(name: String, value: String)] {
        source.headers.compactMap { field in
            fill(field.value, for: source.url.origin).map { (field.name, $0) }
        }
    }

    /// Returns the body of a request to a source with values filled in. Returns nil for a GET.
    func body(of method: RequestMethod, for source: Source) -> [UInt8]? {
        guard case .post(let body) = method else { return nil }
        return fill(body, for: source.url.origin).map { Array($0.utf8) }
    }

    /// Fills in values.
    ///
    /// Returns nil if a value is not granted to the origin, even if the check was left out.
    private func fill(_ template: Template, for origin: Origin) -> String? {
        template.filled { name in
            let isGranted = grants.contains {
                $0.name == name && ($0.origin == nil || $0.origin == origin)
            }
            return isGranted ? values[name] : nil
        }
    }

    private static func withoutLineBreak(_ text: String) -> String {
        guard text.unicodeScalars.last == "\n" else { return text }
        var scalars = text.unicodeScalars.dropLast()
        if scalars.last == "\r" { scalars = scalars.dropLast() }
        return String(String.UnicodeScalarView(scalars))
    }
}

/// Compares each use of a name with the grants.
private struct SecretCheck {
    let log: DiagnosticLog
    let grants: [Grant]
    let values: [String: String]
    let allowsBareGrants: Bool
    /// The uses that have been checked, so that a million resources with one header make one error.
    private var seen: Set<Use> = []
    /// For each name whose grant has no origin, the one origin that gets the value.
    private(set) var onlyOrigins: [String: Origin]

    private struct Use: Hashable {
        let name: String
        let origin: Origin
        let isHeader: Bool
    }

    init(
        log: DiagnosticLog, grants: [Grant], values: [String: String], allowsBareGrants: Bool,
        onlyOrigins: [String: Origin]
    ) {
        self.log = log
        self.grants = grants
        self.values = values
        self.allowsBareGrants = allowsBareGrants
        self.onlyOrigins = onlyOrigins
    }

    mutating func visit(_ resource: Resource) {
        let place = TextPosition(line: max(resource.line, 1), column: max(resource.column, 1))
        for source in resource.sources where source.url.scheme != .file {
            for field in source.headers {
                for name in field.value.variables {
                    visit(Use(name: name, origin: source.url.origin, isHeader: true), at: place)
                }
            }
            if case .post(let body) = resource.method {
                for name in body.variables {
                    visit(Use(name: name, origin: source.url.origin, isHeader: false), at: place)
                }
            }
        }
    }

    private mutating func visit(_ use: Use, at place: TextPosition) {
        guard seen.insert(use).inserted else { return }
        if let (flaw, grants) = flaw(of: use) {
            let remedy = grants.isEmpty ? nil : Remedy(.grant, grants.joined(separator: " "))
            log.error(at: place, "${\(use.name)} \(flaw)", remedy: remedy)
        }
    }

    /// Returns why a use is wrong, and the grants `NAME@ORIGIN` that would permit it.
    ///
    /// Returns nil if the use is permitted.
    private mutating func flaw(of use: Use) -> (words: String, grants: [String])? {
        let exact = "\(use.name)@\(use.origin)"
        let own = grants.filter { $0.name == use.name }
        guard !own.isEmpty else { return ("is not granted", [exact]) }
        if !own.contains(where: { $0.origin == use.origin }) {
            guard own.contains(where: { $0.origin == nil }) else {
                return ("is not granted to \(use.origin)", [exact])
            }
            guard allowsBareGrants else {
                return ("needs its origin, because the manifest is no file here", [exact])
            }
            let other = onlyOrigins[use.name] ?? use.origin
            onlyOrigins[use.name] = other
            guard other == use.origin else {
                return (
                    "would go to \(other) and to \(use.origin)", ["\(use.name)@\(other)", exact]
                )
            }
        }
        guard let value = values[use.name] else {
            return (
                "is unset or empty; set it in the environment, or as a file"
                    + " $CREDENTIALS_DIRECTORY/\(use.name)", []
            )
        }
        if use.isHeader, HeaderError.ofValue(value) != nil {
            return (
                "has a value with a line break or a control character, which no header can have", []
            )
        }
        return nil
    }
}

/// The permission to send one name's value to a server: `NAME@https://host`, or `NAME` alone.
package struct Grant: Sendable, Hashable {
    /// The name in `${NAME}`.
    let name: String
    /// The origin that may get the value. `nil` permits any origin, as long as there is only one.
    ///
    /// `nil` works only for a manifest on this machine.
    let origin: Origin?

    /// Takes a name and an origin as they are.
    init(name: String, origin: Origin?) {
        self.name = name
        self.origin = origin
    }

    /// Reads `NAME`, or `NAME@ORIGIN`.
    ///
    /// - Throws: `MirrorError` with the code `usage` if the text has another form.
    package init(_ text: String) throws(MirrorError) {
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
        guard let origin = Origin(String(halves[1])) else {
            throw MirrorError(.usage, "\(Escaped(text, limit: 80)): \(form).")
        }
        self.init(name: name, origin: origin)
    }
}
