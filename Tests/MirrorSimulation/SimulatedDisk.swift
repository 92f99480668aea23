@testable import MirrorKit

/// A disk that gives files their names after a while, many together, and may fail at it.
final class SimulatedDisk {
    let parts: SimulatedParts
    var onEnd: (RunInput) -> Void = { _ in }
    /// What has a final name: the bytes that were there when it got it.
    private(set) var files: [Target: [UInt8]] = [:]
    /// How often each target got a name.
    private(set) var promotions: [Target: Int] = [:]
    /// How many sets have promoted.
    private(set) var promotedSets = 0
    private let story: Story
    private let time: VirtualTime
    private var batch: [() -> RunInput] = []
    private var batchNumber = 0
    private var left: Int

    init(_ story: Story, _ parts: SimulatedParts) {
        self.story = story
        self.parts = parts
        time = story.time
        left = story.roomForPromotions
    }

    func promote(_ position: Int, _ promotion: Promotion) {
        add { [unowned self] in
            if let error = failure(of: promotion) {
                time.tell("\(promotion.target) does not promote: \(error.code)")
                return .promoted(position, .failed(error))
            }
            files[promotion.target] = bytes(of: promotion.content)
            promotions[promotion.target, default: 0] += 1
            time.tell("\(promotion.target) has promoted")
            return .promoted(position, .promoted(promotion, promotion.record.stamp, conflict: nil))
        }
    }

    /// Gives all files of a set their names, or none.
    func promote(_ set: SetContents) {
        add { [unowned self] in
            for member in set.promotions {
                guard let error = failure(of: member.promotion) else { continue }
                time.tell("the set does not promote: \(member.promotion.target): \(error.code)")
                return .setEnded(set.number, .left([member.position: error]))
            }
            var promoted: [Int: PromotionResult] = [:]
            for member in set.promotions {
                let promotion = member.promotion
                files[promotion.target] = bytes(of: promotion.content)
                promotions[promotion.target, default: 0] += 1
                promoted[member.position] = .promoted(
                    promotion, promotion.record.stamp, conflict: nil)
            }
            promotedSets += 1
            time.tell("a set of \(set.promotions.count) has promoted")
            return .setEnded(set.number, .promoted(.init(files: promoted, way: .rename)))
        }
    }

    func confirm(_ position: Int, _ confirmed: Confirmed) {
        add { [unowned self] in .confirmed(position, failure(.other)) }
    }

    func remove(_ position: Int) { add { [unowned self] in .removed(position, failure(.other)) } }

    /// Has what waits done now.
    func hurry() { close(batchNumber) }

    private func add(_ work: @escaping () -> RunInput) {
        batch.append(work)
        guard batch.count == 1 else { return }
        let number = batchNumber
        time.after(200) { [unowned self] in close(number) }
    }

    private func close(_ number: Int) {
        guard number == batchNumber, !batch.isEmpty else { return }
        let works = batch
        batch = []
        batchNumber += 1
        time.after(story.diskLatency) { [unowned self] in for work in works { onEnd(work()) } }
    }

    private enum Kind { case copy, other }

    private func failure(of promotion: Promotion) -> MirrorError? {
        switch promotion.content {
        case .copy, .copyOfPart, .move: failure(.copy)
        case .memory, .part: failure(.other)
        }
    }

    private func failure(_ kind: Kind) -> MirrorError? {
        if left <= 0 { return MirrorError(.noSpace, "no space left in this simulation") }
        left -= 1
        if kind == .copy, story.chance.oneIn(4) {
            return MirrorError(.sourceChanged, "the copied file has changed")
        }
        if story.diskFailsOneIn > 0, story.chance.oneIn(story.diskFailsOneIn) {
            return MirrorError(.obstructed, "something is in the way")
        }
        return nil
    }

    private func bytes(of content: Promotion.Content) -> [UInt8] {
        switch content {
        case .memory(let bytes): bytes
        case .part(let name, _), .copyOfPart(let name, _): (try? parts.bytes(name)) ?? []
        case .copy(let source), .move(let source): files[source] ?? story.bytes(of: source)
        }
    }
}
