internal import MirrorModel
internal import MirrorStore
internal import MirrorTransfer

/// What the thread of a run hands on, many things at a time: each handing over takes a lock, and may
/// wake a thread.
struct RunOutbox {
    /// The greatest number of events that wait to be sent with others.
    private static let mostEvents = 256

    private let execution: Execution
    private var events: [Event] = []
    private var jobs: [TransferJob] = []
    private var works: [PromotionWork] = []
    private var hurries = false

    init(_ execution: Execution) { self.execution = execution }

    /// Adds an event.
    mutating func add(_ body: Event.Body, at time: Instant, totals: RunTotals) {
        // The queue has taken the list over that there was.
        if events.isEmpty { events.reserveCapacity(Self.mostEvents) }
        events.append(execution.event(body, at: time, totals: totals))
        if events.count >= Self.mostEvents { sendEvents() }
    }

    /// Adds a transfer.
    mutating func add(_ job: TransferJob) { jobs.append(job) }

    /// Adds a work of the promotion.
    mutating func add(_ task: PromotionWork.Task, _ number: Int) {
        works.append(PromotionWork(task: task, number: number, receiver: execution))
    }

    /// Notes that works which wait for the disk are to be promoted without waiting for more.
    mutating func hurry() { hurries = true }

    /// Hands everything on.
    mutating func handOn() {
        sendEvents()
        submitJobs()
        if !works.isEmpty { execution.engine.promoter.submit(works) }
        works.removeAll(keepingCapacity: true)
        if hurries { execution.engine.promoter.hurry() }
        hurries = false
    }

    /// Sends the events.
    mutating func sendEvents() { execution.control.send(contentsOf: &events) }

    /// Hands the transfers to the loop, and pauses some that it has then.
    mutating func submitJobs(pausing paused: [Int] = []) {
        execution.engine.submit(jobs, pausing: paused)
        jobs.removeAll(keepingCapacity: true)
    }
}
