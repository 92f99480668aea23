/// A line below `tree`: a path and what it is afterwards.
enum TreeLine {
    static func read(_ node: Outline, _ variables: Variables) throws(ScenarioFlaw)
        -> TreeExpectation
    {
        if node.text == "empty" { return .empty }
        let words = Words.split(node.text)
        switch words.first {
        case "part" where words.count >= 2:
            guard words.count == 2 || words.count == 4,
                let least = Int(words.last ?? "0") ?? Int("1")
            else { throw node.flaw("expected: part PATH [at-least N]") }
            return .part(of: words[1], atLeast: words.count == 4 ? least : 1)
        case "untouched" where words.count == 2: return .untouched(path: words[1])
        case "link" where words.count == 2: return .link(path: words[1])
        case "absent" where words.count == 2: return .absent(path: words[1])
        case "mode" where words.count == 3:
            return .mode(path: words[1], Int(words[2], radix: 8) ?? 0)
        case "modified" where words.count == 3:
            return .modified(path: words[1], Int(words[2]) ?? 0)
        default:
            let (path, name) = try Assignment.split(node)
            return .file(path: path, try variables.slice(name, node))
        }
    }
}

/// A line below `edit`: what someone does to the tree.
enum EditLine {
    static func read(_ node: Outline, _ variables: Variables) throws(ScenarioFlaw) -> TreeEdit {
        let words = Words.split(node.text)
        let number = words.count > 2 ? Int(words[2]) : nil
        switch (words.first, words.count) {
        case ("remove", 2): return .remove(path: words[1])
        case ("touch", 2): return .touch(path: words[1])
        case ("folder", 2): return .folder(path: words[1])
        case ("link", 3): return .link(path: words[1], to: words[2])
        case ("copy-root", 1): return .copyRoot
        case ("chmod", 3): return .chmod(path: words[1], Int(words[2], radix: 8) ?? 0o644)
        case ("truncate", 3): return .truncate(path: words[1], number ?? 0)
        case ("overwrite", 4):
            return .overwrite(
                path: words[1], offset: number ?? 0, try variables.slice(words[3], node))
        case ("append", _):
            let (path, name) = try Assignment.split(node, after: "append")
            return .append(path: path, try variables.slice(name, node))
        default:
            let (path, name) = try Assignment.split(node)
            return .write(path: path, try variables.slice(name, node))
        }
    }
}

/// `PATH = NAME`.
enum Assignment {
    static func split(_ node: Outline, after word: String = "") throws(ScenarioFlaw) -> (
        String, String
    ) {
        let text = node.text.dropFirst(word.count)
        guard let range = String(text).range(of: " = ") else {
            throw node.flaw("expected: PATH = NAME")
        }
        let whole = String(text)
        return (whole[..<range.lowerBound].trimmed, whole[range.upperBound...].trimmed)
    }
}
