internal import MirrorModel

/// The base of the dialects of lists, in which only some elements matter.
///
/// The element that describes a file is the entry. Its texts and attributes are collected by the
/// path of names beneath it.
class ListDialect: XMLDialect {
    let collector: ListCollector
    /// Names of the open elements, from the root.
    private(set) var path: [String] = []
    private var elements: [XMLElement] = []

    init(_ collector: ListCollector) { self.collector = collector }

    func start(_ element: XMLElement) {
        path.append(element.name)
        elements.append(element)
        opened(element)
    }

    func end(text: String, textAt: TextPosition, at place: TextPosition) {
        guard let element = elements.last else { return }
        closed(element, ListWord(value: text.trimmed, place: textAt))
        elements.removeLast()
        path.removeLast()
    }

    /// An element begins; it is the last of `path`.
    func opened(_ element: XMLElement) {}

    /// An element ends; it is still the last of `path`.
    func closed(_ element: XMLElement, _ text: ListWord) {}
}

extension Located<String> {
    /// An attribute's value.
    init(_ attribute: XMLAttribute) {
        self.init(value: attribute.value, place: attribute.place)
    }
}
