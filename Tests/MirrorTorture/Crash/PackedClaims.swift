/// The intents of a batch, read as the schema says that they are packed, and not with mirror's own code.
struct PackedClaims {
    private(set) var claims: [IndexClaims.Claim] = []

    /// Reads a value of `batches.intents`; nil where its form is another.
    init?(_ packed: [UInt8]) {
        guard packed.first == 2 else { return nil }
        var rest = packed.dropFirst()
        while !rest.isEmpty {
            var columns: [ArraySlice<UInt8>] = []
            // Five of the intent, and then the thirteen of the row, which begin with path, owner and size.
            for _ in 0..<18 {
                guard let column = PackedClaims.column(&rest) else { return nil }
                columns.append(column)
            }
            guard columns[7].count == 8, columns[11].count == 32 else { return nil }
            claims.append(
                .init(
                    path: String(decoding: columns[5], as: UTF8.self),
                    size: Int(PackedClaims.number(columns[7])),
                    sha256: columns[11].map { byte in
                        (byte < 16 ? "0" : "") + String(byte, radix: 16)
                    }.joined()))
        }
    }

    private static func column(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var count = 0
        switch rest.popFirst() {
        case 0: break
        case 1: count = 8
        case 2, 3:
            guard rest.count >= 4 else { return nil }
            count = Int(number(rest.prefix(4)))
            rest = rest.dropFirst(4)
        default: return nil
        }
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
