import MirrorKit

/// Writes HTML in the order of the calls.
///
/// Names of elements and attributes are fixed in the program, and every value and every text is
/// escaped. So the words of a server or a manifest can neither end an element nor begin one.
struct HTMLWriter {
    /// The bytes written so far.
    private(set) var bytes: [UInt8] = []

    typealias Attributes = KeyValuePairs<StaticString, String>

    /// Writes an element whose content the body writes.
    ///
    /// Attributes with an empty value are left out.
    mutating func element(
        _ name: StaticString, _ attributes: Attributes = [:], _ body: (inout HTMLWriter) -> Void
    ) {
        start(name, attributes)
        body(&self)
        raw("</\(name)>")
    }

    /// Writes an element with a text in it.
    mutating func element(_ name: StaticString, _ attributes: Attributes = [:], text: String) {
        element(name, attributes) { $0.text(text) }
    }

    /// Writes an element that has no end tag.
    mutating func void(_ name: StaticString, _ attributes: Attributes) { start(name, attributes) }

    /// Writes a text.
    mutating func text(_ text: String) { raw(text.escapedForHTML) }

    /// Writes markup that is part of the program.
    mutating func markup(_ markup: StaticString) { raw("\(markup)") }

    private mutating func start(_ name: StaticString, _ attributes: Attributes) {
        raw("<\(name)")
        for (key, value) in attributes where !value.isEmpty {
            raw(" \(key)=\"\(value.escapedForHTML)\"")
        }
        raw(">")
    }

    private mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }
}

/// The elements that several sections of a report use.
extension HTMLWriter {
    /// Writes a point of time that machines can read too.
    mutating func time(_ instant: Instant, _ clock: LocalClock) {
        element("time", ["datetime": instant.rfc3339], text: clock.dateAndTime(of: instant))
    }

    /// Writes a cell of a table. On a phone, the row becomes a card with the label beside the cell.
    mutating func cell(
        _ label: String, isNumber: Bool = false, _ body: (inout HTMLWriter) -> Void
    ) {
        element("td", ["data-label": label, "class": isNumber ? "num" : ""]) { html in
            html.element("div") { body(&$0) }
        }
    }

    /// Writes the head of a table.
    mutating func heads(_ names: [(name: String, isNumber: Bool)]) {
        element("thead") { html in
            html.element("tr") { html in
                for (name, isNumber) in names {
                    html.element(
                        "th", ["scope": "col", "class": isNumber ? "num" : ""], text: name)
                }
            }
        }
    }

    /// Writes the first targets of a long list, below a line that opens the list.
    mutating func list(_ targets: [Target], more: Int, _ heading: String, allBy command: String) {
        // A short list is open from the start.
        element("details", ["open": targets.count <= 10 ? "open" : ""]) { html in
            html.element("summary", text: heading)
            html.element("ul", ["class": "plain"]) { html in
                for target in targets {
                    html.element("li") { $0.element("span", ["class": "path"], text: target.path) }
                }
                if more > 0 {
                    html.element("li", ["class": "faint"]) { html in
                        html.text("and \(more.grouped) more: ")
                        html.element("code", text: command)
                        html.text(" lists them")
                    }
                }
            }
        }
    }

    /// Writes a bar for a part of a whole. The numbers beside the bar say the same.
    mutating func track(_ part: Int64, of whole: Int64) {
        let share = whole > 0 ? Double(part) / Double(whole) : 0
        let tenths = part > 0 ? max(10, Int((min(share, 1) * 1000).rounded())) : 0
        element("span", ["class": "track", "aria-hidden": "true"]) { html in
            html.element("i", ["style": "width:\(tenths / 10).\(tenths % 10)%"], text: "")
        }
    }
}

/// Whole numbers in a report have a comma before each thousand.
extension BinaryInteger {
    /// The whole number as people read it: `1,204`.
    var grouped: String {
        var digits = Array(String(self))
        var at = digits.count - 3
        while at > (self < 0 ? 1 : 0) {
            digits.insert(",", at: at)
            at -= 3
        }
        return String(digits)
    }
}
