import CCurl
import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// What libcurl tells of its sockets, and what is found ready then, on real sockets.
struct SocketWatchTests {
    private let watch: SocketWatch

    init() throws { watch = try SocketWatch() }

    /// libcurl tells the same of a shared connection for every request.
    @Test func aReadySocketIsFoundHoweverOftenAdded() throws {
        let pair = try SocketPair()
        for _ in 0..<3 { tell(CURL_POLL_IN, of: pair.near) }
        #expect(ready().isEmpty)
        pair.write()
        #expect(ready() == [pair.near: CURL_CSELECT_IN])
        tell(CURL_POLL_IN, of: pair.near)
        #expect(ready() == [pair.near: CURL_CSELECT_IN])
        tell(CURL_POLL_INOUT, of: pair.near)
        #expect(ready() == [pair.near: CURL_CSELECT_IN | CURL_CSELECT_OUT])
        tell(CURL_POLL_OUT, of: pair.near)
        #expect(ready() == [pair.near: CURL_CSELECT_OUT])
    }

    /// It stays in the set until it is ready, and is found by the next request all the same.
    @Test(arguments: [false, true])
    func aSocketAddedAgainIsFoundReady(becomesReadyBefore: Bool) throws {
        let pair = try SocketPair()
        tell(CURL_POLL_IN, of: pair.near)
        tell(CURL_POLL_REMOVE, of: pair.near)
        if becomesReadyBefore {
            pair.write()
            #expect(ready().isEmpty)
        }
        tell(CURL_POLL_IN, of: pair.near)
        pair.write()
        #expect(ready() == [pair.near: CURL_CSELECT_IN])
    }

    /// A closed socket leaves the set, and the next one may have its number.
    @Test func theNextSocketOfANumberIsFound() throws {
        let (first, next) = (try SocketPair(), try SocketPair())
        let number = first.near
        tell(CURL_POLL_IN, of: number)
        tell(CURL_POLL_REMOVE, of: number)
        // Closes the first in the same step, so that no other thread gets the number between.
        #expect(dup2(next.near, number) == number)
        tell(CURL_POLL_IN, of: number)
        next.write()
        #expect(ready() == [number: CURL_CSELECT_IN])
    }

    private func tell(_ what: Int32, of socket: Int32) {
        _ = socketsChanged(nil, socket, what, Unmanaged.passUnretained(watch).toOpaque(), nil)
    }

    private func ready() -> [Int32: Int32] {
        var found: [Int32: Int32] = [:]
        watch.eachReady { found[$0] = $1 }
        return found
    }
}

/// Two sockets that are connected.
private final class SocketPair {
    struct Failure: Error { let number: Int32 }

    let near: Int32
    private let far: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
            throw Failure(number: errno)
        }
        (near, far) = (ends[0], ends[1])
    }

    deinit {
        close(near)
        close(far)
    }

    func write() { _ = Glibc.write(far, "a", 1) }
}
