internal import MirrorModel

/// Finds values of a manifest that a notation cannot express, before any byte is written.
///
/// A loss that would change the requested bytes is always an error. The caller may permit the other
/// losses, which are warnings then.
struct NotationCheck {
    let notation: DecodedManifest.Notation
    let isLossy: Bool
    let log: DiagnosticLog

    /// Checks everything that the notation might not express; the log has the result.
    func check(_ manifest: Manifest) {
        let top = TextPosition()
        if let name = manifest.name {
            switch notation {
            case .metalink: loss("the manifest", "name", at: top)
            case .xml: checkText(name, "the manifest", "name", at: top)
            case .json: break
            }
        }
        if manifest.isAtomic, notation == .metalink { loss("the manifest", "atomic", at: top) }
        for resource in manifest.resources { check(resource) }
    }

    private func check(_ resource: Resource) {
        let name = resource.target.path.printable
        let place = TextPosition(line: resource.line, column: resource.column)
        if notation == .metalink {
            if resource.method != .get { error("\(name): Metalink has no method", at: place) }
            for key in NotationCheck.keysBeyondMetalink(of: resource) {
                loss(name, key, at: place)
            }
        }
        checkServerName(resource, name, at: place)
        if notation != .metalink { checkMirrors(resource, name, at: place) }
        guard notation != .json else { return }
        checkText(resource.target.path, name, "path", at: place)
        guard notation == .xml else { return }
        for tag in resource.tags { checkText(tag, name, "tags", at: place) }
        if case .post(let body) = resource.method {
            checkText(body.description, name, "body", at: place)
        }
        for source in resource.sources {
            for header in source.headers {
                checkText(header.value.description, name, "headers", at: place)
            }
        }
    }

    private static func keysBeyondMetalink(of resource: Resource) -> [String] {
        let written = WrittenResource(resource, folder: nil)
        var keys = ResourceKey.allCases.filter {
            !ResourceKey.inMetalink.contains($0) && written.value(of: $0) != nil
        }.map { $0 == .priority ? "priority of a resource" : $0.rawValue }
        if resource.isNamedByServer { keys.append("path that the server completes") }
        if resource.primary.headers.isEmpty,
            resource.mirrors.contains(where: { !$0.headers.isEmpty })
        {
            keys.append("headers")
        }
        return keys
    }

    /// Checks that a resource named by the server has the name in its URL until then.
    private func checkServerName(_ resource: Resource, _ name: String, at place: TextPosition) {
        guard resource.isNamedByServer, notation != .metalink else { return }
        let url = resource.primary.url
        let suggested = url.lastSegment ?? ProvisionalName.make(for: url)
        if !suggested.utf8.elementsEqual(resource.target.name.utf8) {
            error("\(name): path: the URL suggests another name; give the file its path", at: place)
        }
    }

    private func checkMirrors(_ resource: Resource, _ name: String, at place: TextPosition) {
        for source in resource.sources.dropFirst()
        where WrittenResource.ownHeaders(of: source, in: resource) == nil {
            error(
                "\(name): mirrors: a mirror of the url's origin inherits its headers; \(source.url)"
                    + " has fewer", at: place)
        }
    }

    private func checkText(_ text: String, _ what: String, _ key: String, at place: TextPosition) {
        guard let scalar = XMLText.firstForbidden(in: text) else { return }
        let number = String(scalar.value, radix: 16, uppercase: true)
        error("\(what): \(key) has the character U+\(number), which XML cannot hold", at: place)
    }

    private func loss(_ what: String, _ key: String, at place: TextPosition) {
        if isLossy {
            log.warning(at: place, "\(what): \(key) is left out, because Metalink has none")
        } else {
            error("\(what): Metalink has no \(key)", at: place)
        }
    }

    private func error(_ text: String, at place: TextPosition) {
        let advice = notation == .json ? "" : "; write JSON"
        log.error(at: place, text + advice)
    }
}
