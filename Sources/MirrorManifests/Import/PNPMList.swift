internal import MirrorModel

/// pnpm-lock.yaml, version 5 to 9: the keys of `packages` are names and versions.
///
/// pnpm writes a small part of YAML: a key a line, two spaces for each level, and `resolution` as
/// `{integrity: …, tarball: …}` or on lines of its own.
enum PNPMList {
    static var kind: ListKind {
        ListKind(
            "pnpm-lock.yaml", "plain text", .text(read),
            .line { $0.text.hasPrefix("lockfileVersion:") })
    }

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var isInPackages = false
        var package: Package?
        for line in text.telling {
            let depth = line.text.utf8.prefix { $0 == 0x20 }.count
            if depth <= 2 {
                package?.finish(collector)
                package = nil
            }
            switch depth {
            case 0: isInPackages = line.text.hasPrefix("packages:")
            case 2 where isInPackages: package = Package(line)
            case 4, 6: package?.set(line, isInResolution: depth == 6)
            default: break
            }
        }
        package?.finish(collector)
    }

    /// A text without the quotation marks around it.
    private static func plain(_ text: Substring) -> Substring {
        guard let mark = text.first, mark == "'" || mark == "\"", text.count > 1,
            text.last == mark
        else { return text }
        return text.dropFirst().dropLast()
    }

    /// A package while its lines are read.
    private struct Package {
        private let key: ListWord
        private var values: [Substring: ListWord] = [:]
        private var isInResolution = false

        init(_ line: ListLine) {
            let text = line.trimmed
            key = line.word(PNPMList.plain(text.hasSuffix(":") ? text.dropLast() : text))
        }

        mutating func set(_ line: ListLine, isInResolution isBeneath: Bool) {
            if isBeneath, !isInResolution { return }
            let text = line.trimmed
            if !isBeneath { isInResolution = text.hasPrefix("resolution:") }
            guard let (name, value) = text.halves(atFirst: ":") else { return }
            let rest = value.drop { $0 == " " }
            guard rest.hasPrefix("{"), rest.hasSuffix("}") else {
                values[name] = line.word(PNPMList.plain(rest))
                return
            }
            guard name == "resolution" else { return }
            let place = line.place(of: rest)
            for part in rest.dropFirst().dropLast().parts(at: ",") {
                guard let (name, value) = part.halves(atFirst: ":") else { continue }
                let text = PNPMList.plain(value.drop { $0 == " " })
                values[name.drop { $0 == " " }] = ListWord(value: String(text), place: place)
            }
        }

        func finish(_ collector: ListCollector) {
            let (key, found) = identity
            let name = values["name"]?.value ?? key
            let tarball = values["tarball"]
            // Beside a tarball it is the package's own, and else perhaps that of a runtime.
            let version = tarball == nil ? found : values["version"]?.value ?? found
            let label = "\(name)@\(version)"
            if values["directory"] != nil || values["repo"] != nil {
                return collector.leaveOut(
                    label, "it is a folder or a repository, not a file", at: self.key.place)
            }
            guard tarball != nil || NPMList.isVersion(version) else {
                return collector.leaveOut(
                    label, "its version is no version of a registry", at: self.key.place)
            }
            guard tarball.map({ URLList.isURL($0.value) && !$0.value.hasPrefix("file:") }) ?? true
            else {
                return collector.leaveOut(
                    label, "it is a folder or a repository, not a file", at: self.key.place)
            }
            var entry = ListEntry(at: self.key.place)
            entry.url =
                tarball
                ?? ListWord(
                    value: NPMList.url(name, version, collector), place: self.key.place)
            if NPMList.isVersion(version) {
                entry.path = ListWord(
                    value: NPMList.path(name, version), place: self.key.place)
            } else {
                entry.folder = "npm"
            }
            entry.integrity = values["integrity"]
            entry.tags =
                [name] + ["dev", "optional"].filter { values[$0[...]]?.value == "true" }
            collector.add(entry)
        }

        /// The name and the version of `/NAME/VERSION_PEERS`, `/NAME@VERSION(PEERS)` or `NAME@VERSION`.
        private var identity: (name: String, version: String) {
            var text = key.value[...]
            if let (before, _) = text.halves(atFirst: "(") { text = before }
            let isPath = text.hasPrefix("/")
            if isPath { text = text.dropFirst() }
            // A name may begin with a mark of its own, and then has two parts.
            let isScoped = text.hasPrefix("@")
            let parts = text.parts(at: "/")
            let length = isScoped ? 2 : 1
            if isPath, parts.count > length {
                let version = parts[length].halves(atFirst: "_")?.before ?? parts[length]
                return (parts[..<length].joined(separator: "/"), String(version))
            }
            let mark = isScoped ? "@" : ""
            guard let (name, version) = text.dropFirst(mark.count).halves(atFirst: "@") else {
                return (String(text), "")
            }
            return (mark + name, String(version))
        }
    }
}
