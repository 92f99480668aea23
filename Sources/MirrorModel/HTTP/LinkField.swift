/// The field `Link` (RFC 8288 §3).
enum LinkField {
    /// The target of the first link whose relation is `next`, as it is written; nil without one.
    static func next(in value: [UInt8]) -> String? {
        guard !value.isEmpty else { return nil }
        let text = String(decoding: value, as: UTF8.self)
        for (target, parameters) in links(in: text) {
            let relations = parameters.compactMap { parameter -> Substring? in
                guard let (name, value) = parameter.halves(atFirst: "="),
                    String(name).trimmingSpaces().lowercased() == "rel"
                else { return nil }
                return value
            }
            // A second `rel` is ignored (§3.3).
            guard let relation = relations.first else { continue }
            let words = relation.lowercased().split { " \t\"".contains($0) }
            if words.contains("next") { return String(target) }
        }
        return nil
    }

    /// The targets and the parameters of all links. Commas and semicolons within quotation marks, and
    /// within a target, part nothing.
    private static func links(in text: String) -> [(target: Substring, parameters: [Substring])] {
        var links: [(Substring, [Substring])] = []
        var rest = text[...]
        while let (_, behind) = rest.halves(atFirst: "<"),
            let (target, tail) = behind.halves(atFirst: ">")
        {
            var (isQuoted, start, parameters) = (false, tail.startIndex, [Substring]())
            var at = tail.startIndex
            while at < tail.endIndex {
                let byte = tail.utf8[at]
                if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
                if !isQuoted, byte == UInt8(ascii: ",") { break }
                if !isQuoted, byte == UInt8(ascii: ";") {
                    parameters.append(tail[start..<at])
                    start = tail.utf8.index(after: at)
                }
                at = tail.utf8.index(after: at)
            }
            parameters.append(tail[start..<at])
            links.append((target, parameters))
            rest = tail[at...]
        }
        return links
    }
}
