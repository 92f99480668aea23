@testable import MirrorKit

/// Parts in memory, on a disk that may be full.
final class SimulatedParts: PartStore, @unchecked Sendable {
    // One thread uses it; see VirtualTime.
    private let scratch = ScratchPartStore()
    private(set) var records: [String: PartRecord] = [:]
    /// After so many parts there is no room for another one.
    var roomFor = Int.max
    private(set) var isOverfull = false

    /// Has a part that an earlier run left.
    func keep(_ record: PartRecord, _ bytes: [UInt8]) throws {
        records[record.name] = record
        try scratch.create(record).write(bytes, at: 0)
    }

    func create(_ record: PartRecord) throws(MirrorError) -> PartFile {
        guard roomFor > 0 else {
            isOverfull = true
            throw MirrorError(.noSpace, "no space left in this simulation", target: record.target)
        }
        roomFor -= 1
        records[record.name] = record
        return try scratch.create(record)
    }

    func open(_ record: PartRecord) throws(MirrorError) -> PartFile? {
        records[record.name] == nil ? nil : try scratch.open(record)
    }

    func update(_ record: PartRecord) throws(MirrorError) {
        var record = record
        record.milestones = records[record.name]?.milestones ?? []
        record.extents = records[record.name]?.extents ?? []
        records[record.name] = record
    }

    func log(_ milestone: Milestone, from start: Int64, part name: String) throws(MirrorError) {
        guard var record = records[name] else { return }
        if start == 0 {
            // The connection that began the file logs its start, and so does the one that took it over.
            record.milestones.removeAll { $0.length == milestone.length }
            record.milestones.append(milestone)
            record.milestones.sort { $0.length < $1.length }
        } else if let at = record.extents.firstIndex(where: { $0.start == start }) {
            record.extents[at].milestones.append(milestone)
        } else {
            record.extents.append(Extent(start: start, milestones: [milestone]))
            record.extents.sort { $0.start < $1.start }
        }
        records[name] = record
    }

    func discard(part name: String) throws(MirrorError) {
        records[name] = nil
        try scratch.discard(part: name)
    }

    /// The bytes of a part.
    func bytes(_ name: String) throws -> [UInt8]? {
        guard let record = records[name], let file = try scratch.open(record) else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(try file.size()))
        let count = try bytes.withUnsafeMutableBytes { (buffer) throws(Errno) in
            try file.read(into: buffer, at: 0)
        }
        return count == bytes.count ? bytes : nil
    }
}
