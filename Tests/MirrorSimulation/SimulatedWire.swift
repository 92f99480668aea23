@testable import MirrorKit

/// A wire whose servers and lines are numbers: everything takes its time, and the time is virtual.
final class SimulatedWire: Wire {
    /// One request under way.
    private final class Request {
        unowned let active: ActiveRequest
        let host: Int
        var answer: SimulatedAnswer?
        /// What it is sent over, once there is one.
        var connection: Connection?
        var position = 0
        var isOver = false
        /// Bytes that were not taken.
        var isPaused = false
        var didAsk = false
        /// What is to be told of it in the next `perform`.
        var waiting: [Step] = []

        init(_ active: ActiveRequest, host: Int) {
            self.active = active
            self.host = host
        }
    }

    /// A connection, and the requests that are under way over it.
    private final class Connection {
        let speaksHTTP2: Bool
        var users: [Request] = []

        init(speaksHTTP2: Bool) { self.speaksHTTP2 = speaksHTTP2 }
    }

    private enum Step {
        case connected
        case head
        case bytes
        case end(TransportFailure?)
    }

    private let time: VirtualTime
    private let chance: Chance
    private let world: World
    private var requests: [Int: Request] = [:]
    private var ready: [Int] = []
    private var ends: [WireEnd] = []
    /// Connections that nobody uses, by host.
    private var idle: [Int: Int] = [:]
    /// Connections over which requests are under way, by host.
    private var busy: [Int: [Connection]] = [:]
    private(set) var running: [Int: Int] = [:]
    private(set) var mostRunning = 0
    private(set) var mostAtHost: [Int: Int] = [:]
    private(set) var bytesDelivered: Int64 = 0
    private(set) var requestsMade = 0
    var networkReturns = false
    /// Connections whose requests have left the origin of their source.
    private var departed: Set<String> = []
    /// What should not have been sent.
    private(set) var leaks: [String] = []

    init(_ time: VirtualTime, _ chance: Chance, _ world: World) {
        self.time = time
        self.chance = chance
        self.world = world
    }

    /// How many requests are under way.
    var count: Int { requests.count }

    func prepare(_ active: ActiveRequest) throws(MirrorError) {
        guard let host = world.host(of: active.plan.url) else {
            throw MirrorError(.internalError, "no such host in this simulation")
        }
        requests[active.number] = Request(active, host: host)
        watchCredentials(of: active)
    }

    /// Credentials stay behind at the first request to another origin, and do not come back.
    private func watchCredentials(of active: ActiveRequest) {
        let (own, url) = ("\(active.id)", active.plan.url)
        let key = active.segment.map { "\(own)/\($0)" } ?? own
        if url == active.source.url {
            departed.remove(key)
        } else if url.origin != active.source.url.origin
            || active.segment != nil && departed.contains(own)
        {
            departed.insert(key)
        }
        if active.plan.carriesCredentials, departed.contains(key) {
            leaks.append("\(key) takes the credentials of \(active.source.url) to \(url)")
        }
    }

    func begin(_ active: ActiveRequest) {
        guard let request = requests[active.number] else { return }
        requestsMade += 1
        running[request.host, default: 0] += 1
        mostRunning = max(mostRunning, running.values.reduce(0, +))
        mostAtHost[request.host] = max(mostAtHost[request.host] ?? 0, running[request.host] ?? 0)
        let host = world.hosts[request.host]
        time.tell(
            "\(host.name) is asked for \(request.active.plan.url.path) from \(request.active.plan.offset) by \(active.id)/\(active.segment ?? -1)"
        )
        switch host.character {
        case .nameless:
            fail(request, after: chance.number(1...500), .nameNotResolved, "no such name")
        case .refusing: fail(request, after: host.roundTrip, .connectFailed, "refused")
        case .blackHole:
            fail(request, after: world.connectTimeout, .connectFailed, "timed out")
        case .away(let from, let until) where from <= time.now && time.now < until:
            fail(request, after: host.roundTrip, .connectFailed, "refused")
        default:
            active.hadSocket = true
            let isReused = (idle[request.host] ?? 0) > 0
            if isReused { idle[request.host, default: 0] -= 1 }
            step(.connected, request, after: isReused ? 0 : host.roundTrip)
        }
    }

    private func fail(_ request: Request, after: Int64, _ code: FailureCode, _ cause: String) {
        request.active.hadSocket = code != .nameNotResolved
        let failure = TransportFailure(code, cause, isPassing: true, wasSent: false)
        step(.end(failure), request, after: after)
    }

    func end(_ active: ActiveRequest) {
        guard let request = requests.removeValue(forKey: active.number) else { return }
        time.tell(
            "\(active.id)/\(active.segment ?? -1) is ended at \(request.position) of \(request.answer?.body.count ?? 0)"
        )
        running[request.host, default: 0] -= 1
        if request.isOver, request.answer?.failure == nil { idle[request.host, default: 0] += 1 }
        leave(request)
        request.isOver = true
        ends.removeAll { $0.active === active }
    }

    func resume(_ active: ActiveRequest) -> WireEnd? {
        guard let request = requests[active.number], request.isPaused else { return nil }
        request.isPaused = false
        if let failure = deliver(request) {
            request.isOver = true
            return WireEnd(active: active, failure: failure, wasSent: true)
        }
        return nil
    }

    func perform() {
        while !ready.isEmpty {
            let numbers = ready
            ready = []
            for number in numbers {
                guard let request = requests[number], !request.waiting.isEmpty, !request.isOver
                else { continue }
                take(request.waiting.removeFirst(), request)
            }
        }
    }

    func nextEnd() -> WireEnd? { ends.isEmpty ? nil : ends.removeFirst() }

    func endConnection(of active: ActiveRequest, ifSilentFor milliseconds: Int64) {}

    func watchNetwork() {}

    func networkHasReturned() -> Bool {
        defer { networkReturns = false }
        return networkReturns
    }

    func wait(milliseconds: Int64) {}

    // MARK: One request

    private func step(_ step: Step, _ request: Request, after: Int64) {
        let number = request.active.number
        time.after(after) { [weak self] in
            guard let self, let request = requests[number], !request.isOver else { return }
            request.waiting.append(step)
            ready.append(number)
        }
    }

    private func take(_ step: Step, _ request: Request) {
        let host = world.hosts[request.host]
        switch step {
        case .connected:
            request.didAsk = true
            let connection = connect(request, host)
            request.connection = connection
            let other = connection.users.first
            connection.users.append(request)
            request.active.requestBegins(beside: other?.active)
            guard host.character != .silent else { return }
            self.step(.head, request, after: host.roundTrip)
        case .head: answer(request, host)
        case .bytes:
            if let failure = deliver(request) { finish(request, failure) }
        case .end(let failure): finish(request, failure)
        }
    }

    /// The connection for a request: one that is there where requests share connections, as libcurl
    /// 7.88 has it: over a mixed host also one of HTTP/1.1, on which others are under way.
    private func connect(_ request: Request, _ host: SimulatedHost) -> Connection {
        let plan = request.active.plan
        let mayShare =
            host.sharesConnections && !plan.usesHTTP1 && !request.active.isAlone
        if mayShare, let found = busy[request.host]?.first(where: { $0.users.count < 4 }) {
            return found
        }
        let speaksHTTP2 =
            host.sharesConnections && !plan.usesHTTP1 && !(host.isMixed && chance.oneIn(2))
        let made = Connection(speaksHTTP2: speaksHTTP2)
        // A connection of a request over HTTP/1.1, or of one that is alone, is nobody else's.
        if mayShare { busy[request.host, default: []].append(made) }
        return made
    }

    private func leave(_ request: Request) {
        guard let connection = request.connection else { return }
        request.connection = nil
        connection.users.removeAll { $0 === request }
        if connection.users.isEmpty { busy[request.host]?.removeAll { $0 === connection } }
    }

    /// The request whose answer comes to a request: over HTTP/1.1, that of any request that is under
    /// way over the same connection.
    private func owner(_ request: Request) -> Request {
        guard let connection = request.connection, !connection.speaksHTTP2,
            connection.users.count > 1
        else { return request }
        return chance.pick(connection.users)
    }

    private func answer(_ request: Request, _ host: SimulatedHost) {
        let mishap = world.mishap(at: request.host, running: running[request.host] ?? 0)
        time.tell(
            "\(host.name) answers \(request.active.id)/\(request.active.segment ?? -1), mishap \(String(describing: mishap))"
        )
        if mishap == .resetBeforeHead { return finish(request, SimulatedAnswer.lost) }
        let answer = world.answer(
            to: owner(request).active.plan, at: host,
            isShared: request.connection?.speaksHTTP2 ?? false, mishap: mishap)
        request.answer = answer
        for line in answer.lines where !request.isOver {
            var bytes = Array((line + "\r\n").utf8)
            let goesOn = bytes.withUnsafeMutableBytes {
                request.active.take(line: UnsafeRawBufferPointer($0))
            }
            if !goesOn { return finish(request, SimulatedAnswer.lost) }
        }
        if answer.body.isEmpty, answer.failure == nil { return finish(request, nil) }
        more(request)
    }

    /// The next bytes come when the line has brought them.
    private func more(_ request: Request) {
        guard let answer = request.answer, request.position < answer.stallsAfter else { return }
        let host = world.hosts[request.host]
        let count = min(16384, answer.body.count - request.position)
        let wait = host.character == .dripping ? 1000 : Int64(count) / host.rate
        step(.bytes, request, after: wait)
    }

    /// Delivers what came; how the answer ended where it did: a failure, or nil within.
    private func deliver(_ request: Request) -> TransportFailure?? {
        guard let answer = request.answer else { return nil }
        let isDripping = world.hosts[request.host].character == .dripping
        let end = min(
            answer.body.count, answer.failsAfter, answer.stallsAfter,
            request.position + (isDripping ? 10 : 16384))
        let start = answer.body.startIndex
        var piece = Array(answer.body[start + request.position..<start + end])
        // The bytes of another answer may come in their place.
        if owner(request) !== request { piece = piece.map { ~$0 } }
        if !piece.isEmpty {
            let reply = piece.withUnsafeMutableBytes {
                request.active.take(body: UnsafeRawBufferPointer($0))
            }
            switch reply {
            case .pause:
                request.isPaused = true
                return nil
            case .stop: return .some(SimulatedAnswer.lost)
            case .proceed:
                request.position = end
                bytesDelivered += Int64(piece.count)
            }
        }
        if end >= answer.failsAfter { return .some(answer.failure) }
        if end >= answer.body.count { return .some(nil) }
        more(request)
        return nil
    }

    private func finish(_ request: Request, _ failure: TransportFailure?) {
        time.tell(
            "\(request.active.id)/\(request.active.segment ?? -1) ends at \(request.position): \(failure?.cause ?? "well")"
        )
        request.isOver = true
        // The next request may begin over its connection before its end is taken.
        leave(request)
        ends.append(
            WireEnd(active: request.active, failure: failure, wasSent: request.didAsk))
    }
}
