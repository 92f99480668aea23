internal import CLinux
internal import Glibc
public import MirrorModel
internal import MirrorSystem

/// A file in which a plan records what each of its decisions was made from.
///
/// Nothing is kept in memory, and the file gets its name when it is whole.
struct DecisionFile {
    private let recording: PlanOptions.Recording

    /// Takes the path, and the target if only one matters.
    init(_ recording: PlanOptions.Recording) { self.recording = recording }

    /// Writes the decisions that the body tells. Throws the errors of the body, or `MirrorError`.
    func write<Value>(_ body: (@escaping DecisionRecording) throws -> Value) throws -> Value {
        try FileReplacement(of: recording.path).write { write in
            try withoutActuallyEscaping(write) { write in
                var json = JSONWriter(indentation: 1)
                RecordedDecision.beginDocument(in: &json)
                let value = try body { decision in
                    if let only = recording.target, decision.target != only { return }
                    decision.write(to: &json)
                    if json.bytes.count > 64 << 10 { try write(json.take()) }
                }
                RecordedDecision.endDocument(in: &json)
                try write(json.take())
                return value
            }
        }
    }
}

extension DecisionFile {
    /// The greatest file that is read, in bytes; some hundred thousand decisions.
    private static let longest = 256 << 20

    /// The decisions that a file has. Throws `MirrorError` or `ManifestRefusal`.
    static func read(_ path: String) throws -> [RecordedDecision] {
        let bytes: [UInt8]
        do throws(Errno) {
            let file = Descriptor(
                owning: try retrying("open", path) {
                    linux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0)
                })
            bytes = try file.bytes(at: 0, count: longest + 1, path: path)
        } catch {
            let reason =
                error.number == EISDIR ? "it is a folder" : String(cString: strerror(error.number))
            throw MirrorError(
                .manifestUnreadable,
                "\(path.printable): the recorded decisions cannot be read: \(reason).")
        }
        guard bytes.count <= longest else {
            throw MirrorError(
                .manifestUnreadable,
                "\(path.printable): recorded decisions of more than \(ByteCount(Int64(longest))) are not read."
            )
        }
        return try RecordedDecision.decisions(in: bytes, file: path)
    }
}

extension RecordedDecision {
    /// The decisions that a file recorded.
    ///
    /// Throws `MirrorError` with `manifestUnreadable`, and `ManifestRefusal` with line and column for
    /// a file that holds no decisions, or that a newer mirror wrote.
    public static func decisions(inFile path: String) throws -> [RecordedDecision] {
        try DecisionFile.read(path)
    }
}
