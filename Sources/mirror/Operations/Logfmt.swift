import MirrorKit
import MirrorModel

/// A JSON object as one line of `key=value` pairs (logfmt).
///
/// Members of objects within it have their keys joined by dots. A value is quoted where it is empty, or
/// has a space, a quote, an equals sign or a control character. Null is left out.
enum Logfmt {
    /// The line of an object, without its line break.
    static func line(_ object: JSONTree) -> String {
        var pairs: [String] = []
        add(object, "", to: &pairs)
        return pairs.joined(separator: " ")
    }

    private static func add(_ tree: JSONTree, _ key: String, to pairs: inout [String]) {
        switch tree.value {
        case .object(let members):
            for member in members {
                add(member.value, key.isEmpty ? member.key : key + "." + member.key, to: &pairs)
            }
        case .array(let elements):
            let texts = elements.compactMap { $0.string }
            if !texts.isEmpty { pairs.append("\(key)=\(quoted(texts.joined(separator: ",")))") }
        case .string(let text): pairs.append("\(key)=\(quoted(text))")
        case .number(let text): pairs.append("\(key)=\(text)")
        case .boolean(let flag): pairs.append("\(key)=\(flag)")
        case .null: break
        }
    }

    private static func quoted(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy {
                $0.value > 0x20 && $0.value != 0x7F && $0 != "\"" && $0 != "=" && $0 != "\\"
                    && !(0x80..<0xA0).contains($0.value)
            }
        if isPlain { return text }
        var json = JSONWriter()
        json.string(text)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
