import MirrorModel

/// Labels and colours of lines for people.
struct TextStyle {
    let isColored: Bool

    /// The meaning of a colour.
    enum Meaning: String {
        case good = "32"
        case warning = "33"
        case failure = "31"
        case neutral = "36"
    }

    /// A word at the beginning of a line, padded to a column.
    func label(_ word: String, _ meaning: Meaning) -> String {
        let padding = String(repeating: " ", count: max(1, 14 - word.count))
        return paint(word, meaning.rawValue) + padding
    }

    /// The label of an outcome.
    func outcome(_ outcome: Outcome) -> String {
        switch outcome {
        case .failed: label(outcome.word, .failure)
        case .conflict, .edited, .stale: label(outcome.word, .warning)
        case .kept, .skipped, .deferred, .unchanged, .notModified, .adopted:
            label(outcome.word, .neutral)
        default: label(outcome.word, .good)
        }
    }

    /// Paints a remark in a faint style.
    func faint(_ text: String) -> String { paint(text, "2") }

    /// Paints a text as what it means.
    func paint(_ text: String, _ meaning: Meaning) -> String { paint(text, meaning.rawValue) }

    private func paint(_ text: String, _ code: String) -> String {
        isColored ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
