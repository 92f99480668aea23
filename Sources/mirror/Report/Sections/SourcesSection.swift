import MirrorKit
import MirrorModel

/// The hosts: what came from them, and what they honour.
struct SourcesSection: ReportSection {
    let id = "sources"
    let title = "Sources"
    let hosts: HostBook

    /// How many hosts have a row.
    private static let mostHosts = 50

    func write(_ html: inout HTMLWriter) {
        let listed = hosts.hosts
        guard !listed.isEmpty else {
            return html.element("p", text: "No file came from a server, and no run asked one.")
        }
        html.element("table", ["class": "cards"]) { html in
            html.element(
                "caption",
                text:
                    "Files in the tree by the host they came from. Ranges, HTTP and transfers are those of the last runs' logs."
            )
            html.heads(
                [
                    ("Host", false), ("Files", true), ("Ranges", false), ("Validators", false),
                    ("HTTP", false), ("Transfers", false),
                ])
            html.element("tbody") { html in
                for host in listed.prefix(Self.mostHosts) { row(host, &html) }
            }
        }
        let more = listed.count - Self.mostHosts
        if more > 0 || hosts.beyond > 0 {
            html.element("p", ["class": "small faint"]) { html in
                if more > 0 { html.text("And \(Counted(more, "host")) with fewer bytes: ") }
                html.element("code", text: "mirror report --json")
                html.text(" lists up to \(HostBook.mostHosts).")
            }
        }
    }

    private func row(_ host: HostFacts, _ html: inout HTMLWriter) {
        html.element("tr") { html in
            html.element("th", ["scope": "row"], text: host.host)
            html.cell("Files", isNumber: true) { html in
                html.text(host.files.grouped)
                html.element("small", text: "\(ByteCount(host.bytes))")
            }
            html.cell("Ranges") { html in
                html.text(host.rangeWords)
                html.element("small", text: host.resumption)
            }
            html.cell("Validators") { $0.text(host.validatorWords) }
            html.cell("HTTP") { html in
                let versions = host.versions.keys.map(\.rawValue).sorted()
                html.text(versions.isEmpty ? "–" : versions.joined(separator: ", "))
            }
            html.cell("Transfers") { html in
                html.text(host.transfers == 0 ? "–" : host.transfers.grouped)
                let facts = host.troubles
                if !facts.isEmpty { html.element("small", text: facts.joined(separator: ", ")) }
            }
        }
    }
}

extension HostFacts {
    /// What the host does with ranges.
    fileprivate var rangeWords: String {
        if isDivided { return "honoured for some files" }
        return switch rangeSupport {
        case .honoured: "✓ honoured"
        case .offered: "offered"
        case .refused: "✕ refused"
        case .unknown: host.hasPrefix("file:") ? "–" : "not known"
        }
    }

    /// What becomes of a download that breaks off.
    fileprivate var resumption: String {
        let weak = validators[.weak, default: 0] + validators[.none, default: 0]
        switch rangeSupport {
        case .refused where !isDivided: return "a broken download starts over"
        case .refused, .honoured, .offered:
            if weak == 0 { return "a broken download goes on" }
            return validators[.strong, default: 0] == 0
                ? "goes on under a digest only" : "goes on where pinned, or the tag is strong"
        case .unknown: return ""
        }
    }

    fileprivate var validatorWords: String {
        let counts = ValidatorStrength.allCases.filter { validators[$0, default: 0] > 0 }
        if counts.isEmpty { return "–" }
        if counts.count == 1, let only = counts.first {
            return only == .none ? "none sent" : "all \(only.rawValue)"
        }
        return counts.map { strength in
            let count = validators[strength, default: 0].grouped
            return strength == .none ? "\(count) without" : "\(count) \(strength.rawValue)"
        }.joined(separator: ", ")
    }

    fileprivate var troubles: [String] {
        var facts: [String] = []
        if received > 0 { facts.append("\(ByteCount(received)) received") }
        if resumed > 0 { facts.append("\(resumed.grouped) resumed") }
        if retries > 0 { facts.append("\(retries.grouped) tried again") }
        if failed > 0 { facts.append("\(failed.grouped) failed") }
        return facts
    }
}
