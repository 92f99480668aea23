internal import MirrorModel

/// A table while it is read.
final class TOMLTable {
    /// How a table was made, which decides what may add to it.
    enum Kind { case header, implied, dotted, inline }

    private enum Item {
        case value(JSONTree)
        case table(TOMLTable)
        case tables(Tables)
    }

    /// The tables of an array. An object, because an array in a case would be copied to add to it.
    private final class Tables {
        var all: [TOMLTable]

        init(_ first: TOMLTable) { all = [first] }
    }

    private let place: TextPosition
    private var kind: Kind
    private var members: [(key: ListWord, item: Item)] = []
    private var positions: [String: Int] = [:]

    init(at place: TextPosition, kind: Kind) { (self.place, self.kind) = (place, kind) }

    /// The table beneath a key, made where there is none; nil if something else is there.
    func descend(_ key: ListWord, as kind: Kind) -> TOMLTable? {
        guard let position = positions[key.value] else {
            let table = TOMLTable(at: key.place, kind: kind == .header ? .implied : kind)
            append(key, .table(table))
            return table
        }
        switch members[position].item {
        case .table(let table):
            if table.kind == .inline { return nil }
            return kind == .dotted && table.kind != .dotted ? nil : table
        case .tables(let tables): return kind == .header ? tables.all.last : nil
        case .value: return nil
        }
    }

    /// The table that a header opens; nil if it was opened before, or something else is there.
    func open(_ key: ListWord, isArray: Bool, at place: TextPosition) -> TOMLTable? {
        guard let position = positions[key.value] else {
            let table = TOMLTable(at: place, kind: .header)
            append(key, isArray ? .tables(Tables(table)) : .table(table))
            return table
        }
        switch members[position].item {
        case .table(let table) where !isArray && table.kind == .implied:
            table.kind = .header
            return table
        case .tables(let tables) where isArray:
            let table = TOMLTable(at: place, kind: .header)
            tables.all.append(table)
            return table
        default: return nil
        }
    }

    /// Sets a value; false if the key is there.
    func put(_ key: ListWord, _ value: JSONTree) -> Bool {
        guard positions[key.value] == nil else { return false }
        append(key, .value(value))
        return true
    }

    private func append(_ key: ListWord, _ item: Item) {
        positions[key.value] = members.count
        members.append((key, item))
    }

    /// The table as a tree.
    var tree: JSONTree {
        JSONTree(
            .object(
                members.map { member in
                    JSONTree.Member(
                        key: member.key.value, place: member.key.place,
                        value: TOMLTable.tree(of: member.item, at: member.key.place))
                }), at: place)
    }

    private static func tree(of item: Item, at place: TextPosition) -> JSONTree {
        switch item {
        case .value(let tree): tree
        case .table(let table): table.tree
        case .tables(let tables): JSONTree(.array(tables.all.map(\.tree)), at: place)
        }
    }
}
