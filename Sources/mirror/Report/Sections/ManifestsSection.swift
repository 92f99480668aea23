import MirrorKit
import MirrorModel

/// The manifests that the root remembers.
struct ManifestsSection: ReportSection {
    let id = "manifests"
    let title = "Manifests"
    let manifests: [RememberedManifest]
    let clock: LocalClock

    func write(_ html: inout HTMLWriter) {
        html.element("table", ["class": "cards"]) { html in
            html.element("caption", text: "Manifests that this root remembers")
            html.heads(
                [("Name", false), ("Resources", true), ("Last synced", false), ("Copy of", false)])
            html.element("tbody") { html in
                for manifest in manifests {
                    html.element("tr") { html in
                        html.element("th", ["scope": "row"]) { html in
                            html.text(manifest.name)
                            html.element("small") { html in
                                html.element("span", ["class": "path"], text: manifest.place)
                                if manifest.isThere == false { html.text(" (not there now)") }
                            }
                        }
                        html.cell("Resources", isNumber: true) { html in
                            html.text(manifest.resources.map { $0.grouped } ?? "–")
                        }
                        for (label, instant) in [
                            ("Synced", manifest.syncedAt), ("Copy of", manifest.copiedAt),
                        ] {
                            html.cell(label) { html in
                                if let instant { html.time(instant, clock) } else { html.text("–") }
                            }
                        }
                    }
                }
            }
        }
    }
}
