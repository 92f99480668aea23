internal import MirrorModel

extension StoredFile {
    /// The facts from a row and a look at the file together.
    init(_ record: IndexRecord, file: LocalFile) {
        let state: State
        switch file {
        case .absent: state = .missing
        case .other: state = .obstructed
        case .file(let stamp, _): state = stamp == record.stamp ? .intact : .changed
        }
        self.init(target: record.target, state: state)
        owners = record.owners
        if case .file(let stamp, _) = file { size = stamp.size }
        sha256 = record.sha256
        verified = record.verified
        source = record.provenance?.source.description
        if source != nil { validator = record.validators.strength }
        confirmedAt = record.confirmedAt
    }
}
