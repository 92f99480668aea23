/// The start of an element, as the parser hands it on.
struct XMLElement {
    /// The name without prefix.
    let name: String
    /// The namespace's name; nil when there is none.
    let namespace: String?
    let attributes: [XMLAttribute]
    let place: TextPosition

    /// The value of an attribute without a namespace.
    func attribute(_ name: String) -> XMLAttribute? { attributes.first { $0.name == name } }
}

/// An attribute; namespace declarations are not among them.
struct XMLAttribute {
    /// The name as written, with its prefix.
    let name: String
    let value: String
    /// Where the value begins.
    let place: TextPosition
}

/// A vocabulary in XML: gets elements in order, and the text of each at its end.
protocol XMLDialect: AnyObject {
    func start(_ element: XMLElement)
    /// Ends an element; `text` is the text directly inside it, without that of its children.
    func end(text: String, textAt: TextPosition, at place: TextPosition)
}
