package import MirrorModel

/// One thing that the promotion thread does, and who hears how it ended.
package struct PromotionWork: Sendable {
    package enum Task: Sendable {
        /// Verified bytes get their final name.
        case land(Landing)
        /// A set gets its final names, all of it or nothing.
        case landSet(SetLanding)
        /// A row changes and the file does not: a 304, or a file whose bytes were found to be right.
        case confirm(Confirmed)
        /// A file that mirror put there, unchanged since, goes with its row.
        case remove(Removal)
    }

    package let task: Task
    /// What the receiver knows it by.
    package let number: Int
    package let receiver: any PromotionReceiver

    /// Takes a task, its number, and the receiver of its result.
    package init(task: Task, number: Int, receiver: any PromotionReceiver) {
        self.task = task
        self.number = number
        self.receiver = receiver
    }

    /// The bytes that wait in memory for it.
    package var bytesInMemory: Int {
        if case .land(let landing) = task { return landing.bytesInMemory }
        return 0
    }

    /// The set that it promotes; nil for the work of one file.
    var set: SetLanding? {
        if case .landSet(let set) = task { return set }
        return nil
    }

    /// How a work ended that did not succeed.
    package func failed(_ error: MirrorError) -> PromotionEnd {
        switch task {
        case .land(let landing): PromotionEnd(number, .landed(landing, .failed(error)))
        case .landSet(let set): PromotionEnd(number, .set(set, set.refused(error)))
        case .confirm: PromotionEnd(number, .notConfirmed(error))
        case .remove: PromotionEnd(number, .removed(error))
        }
    }
}

/// Hears how works of the promotion ended, on that thread: it passes things on, and is quick.
package protocol PromotionReceiver: AnyObject, Sendable {
    /// These works have ended; everything that they did is on the disk.
    func promoted(_ ends: [PromotionEnd])
}

/// How a work of the promotion ended.
package struct PromotionEnd: Sendable {
    package enum Result: Sendable {
        /// What became of a landing.
        case landed(Landing, LandingResult)
        case confirmed
        indirect case notConfirmed(MirrorError)
        indirect case removed(MirrorError?)
        /// What became of a set.
        case set(SetLanding, SetResult)
    }

    package let number: Int
    package let result: Result

    package init(_ number: Int, _ result: Result) {
        self.number = number
        self.result = result
    }
}

/// Ends of works on their way to their receivers, those of each together.
struct PromotionReports {
    private var reports: [(receiver: any PromotionReceiver, ends: [PromotionEnd])] = []

    mutating func add(_ end: PromotionEnd, for work: PromotionWork) {
        if let last = reports.indices.last, reports[last].receiver === work.receiver {
            reports[last].ends.append(end)
        } else {
            reports.append((work.receiver, [end]))
        }
    }

    func deliver() {
        for report in reports { report.receiver.promoted(report.ends) }
    }
}
