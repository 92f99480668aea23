/// A line of a scenario and the lines that are indented below it.
struct Outline: Sendable {
    /// The number of the line in its file; the first is 1.
    let line: Int
    /// The line without its indentation.
    var text: String
    /// The columns before the text.
    let indentation: Int
    /// The lines below it.
    var children: [Outline] = []

    /// Reads a file's text; empty lines and lines that begin with `#` say nothing.
    static func parse(_ text: String) -> [Outline] {
        var lines: [Outline] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let indentation = line.prefix { $0 == " " }.count
            let content = line.dropFirst(indentation)
            if content.isEmpty || content.first == "#" { continue }
            lines.append(
                Outline(line: index + 1, text: String(content), indentation: indentation))
        }
        var rest = lines[...]
        return nest(&rest, deeperThan: -1)
    }

    private static func nest(_ rest: inout ArraySlice<Outline>, deeperThan limit: Int) -> [Outline]
    {
        var nodes: [Outline] = []
        while var node = rest.first, node.indentation > limit {
            rest.removeFirst()
            node.children = nest(&rest, deeperThan: node.indentation)
            nodes.append(node)
        }
        return nodes
    }

    /// The lines below as a text of their own, with their indentation.
    var block: String {
        children.map { $0.lines(from: children.first?.indentation ?? 0) }.joined()
    }

    private func lines(from column: Int) -> String {
        String(repeating: " ", count: max(0, indentation - column)) + text + "\n"
            + children.map { $0.lines(from: column) }.joined()
    }

    /// The text of every line with its variables replaced.
    func replacing(_ variables: Variables) throws(ScenarioFlaw) -> Outline {
        var copy = self
        copy.text = try variables.replace(in: text, line: line)
        var replaced: [Outline] = []
        for child in children { replaced.append(try child.replacing(variables)) }
        copy.children = replaced
        return copy
    }

    /// The first word, and what follows it.
    var words: (first: String, rest: String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        return (String(parts.first ?? ""), parts.count > 1 ? parts[1].trimmed : "")
    }

    /// An error at this line.
    func flaw(_ message: String) -> ScenarioFlaw { ScenarioFlaw(line: line, message: message) }
}

/// What is wrong with a scenario file, and where.
public struct ScenarioFlaw: Error, CustomStringConvertible {
    package let line: Int
    package let message: String
    /// The line and the sentence.
    public var description: String { "line \(line): \(message)" }
}

/// Words of a line, parted by spaces; a word in double quotes may hold spaces and `\r \n \0 \e \" \\`.
enum Words {
    static func split(_ text: String) -> [String] {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        var isEscaped = false
        for character in text {
            if isEscaped {
                word = (word ?? "") + String(unescaped(character))
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
                word = word ?? ""
            } else if character == " ", !isQuoted {
                if let word { words.append(word) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        return words + (word.map { [$0] } ?? [])
    }

    private static func unescaped(_ character: Character) -> Character {
        switch character {
        case "r": "\r"
        case "n": "\n"
        case "0": "\0"
        case "e": "\u{1B}"
        default: character
        }
    }
}
