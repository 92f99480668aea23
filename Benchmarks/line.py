"""A line with a round trip, in front of a server on loopback: bytes arrive later, or more slowly.

    python3 line.py --listen PORT --target PORT --rtt 100 [--rate 60e6] [--window 2e6]

Every byte arrives half a round trip after it was sent. A connection's first bytes arrive a whole
one later, as they follow the handshake. `--rate` is what the line carries in a second and a
direction, shared by all connections. `--window` is how many bytes of a connection may be under way
in one direction, from when they are taken from the sender until the receiver's acknowledgement
would be back: so one connection gets at most a window in each round trip, as over TCP. There is no
loss, and no slow start.
"""

import argparse
import asyncio
import collections
import selectors

# What is taken from a sender at once; small enough that connections share the rate evenly.
PIECE = 32 * 1024


class Line:
    """What all connections share. Seconds and bytes a second."""

    def __init__(self, rtt, rate, window):
        self.half = rtt / 2
        self.rate = rate
        self.window = window
        # When the last byte that was accepted will have gone out, by direction.
        self.free = [0.0, 0.0]

    def arrival(self, direction, length, now):
        """When a piece that is sent now will have arrived."""
        gone = max(now, self.free[direction])
        if self.rate:
            gone += length / self.rate
            self.free[direction] = gone
        return gone + self.half


class Half(asyncio.BufferedProtocol):
    """One end of a connection: what it sends is delivered to the other end, later, in order."""

    def __init__(self, line, direction, other=None):
        self.line = line
        self.direction = direction
        self.other = other
        self.loop = asyncio.get_running_loop()
        self.transport = None
        self.buffer = memoryview(bytearray(PIECE))
        self.pieces = collections.deque()
        self.unacknowledged = collections.deque()
        self.under_way = 0
        self.not_before = 0.0
        self.timer = None
        self.has_ended = False
        self.reads = True

    def connection_made(self, transport):
        self.transport = transport
        if self.direction == 0:
            self.not_before = self.loop.time() + 3 * self.line.half
            asyncio.ensure_future(self.connect()).add_done_callback(lambda task: task.exception())

    async def connect(self):
        """The server's end; until it is there, nothing is taken from the client."""
        self.transport.pause_reading()
        self.other = Half(self.line, 1, self)
        try:
            await self.loop.create_connection(lambda: self.other, "127.0.0.1", self.line.target)
        except OSError:
            self.transport.abort()
            return
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def get_buffer(self, sizehint):
        return self.buffer

    def buffer_updated(self, length):
        now = self.loop.time()
        due = max(self.line.arrival(self.direction, length, now), self.not_before)
        self.pieces.append((due, bytes(self.buffer[:length])))
        self.under_way += length
        if self.reads and self.under_way >= self.line.window:
            self.reads = False
            self.transport.pause_reading()
        self.wake_at(self.pieces[0][0])

    def eof_received(self):
        self.pieces.append((self.line.arrival(self.direction, 0, self.loop.time()), b""))
        self.wake_at(self.pieces[0][0])
        return True

    def connection_lost(self, error):
        if error is None and (self.pieces or self.has_ended):
            return
        if self.other and self.other.transport:
            self.other.transport.abort()

    def wake_at(self, time):
        if self.timer is None or time < self.timer.when():
            if self.timer:
                self.timer.cancel()
            self.timer = self.loop.call_at(time, self.turn)

    def turn(self):
        """Delivers what is due, and forgets what is acknowledged by now."""
        self.timer = None
        now = self.loop.time()
        while self.pieces and self.pieces[0][0] <= now:
            due, data = self.pieces.popleft()
            self.deliver(data)
            self.unacknowledged.append((due + self.line.half, len(data)))
        while self.unacknowledged and self.unacknowledged[0][0] <= now:
            self.under_way -= self.unacknowledged.popleft()[1]
        if not self.reads and self.under_way < self.line.window:
            self.reads = True
            if not self.transport.is_closing():
                self.transport.resume_reading()
        if self.pieces:
            self.wake_at(self.pieces[0][0])
        if not self.reads and self.unacknowledged:
            self.wake_at(self.unacknowledged[0][0])

    def deliver(self, data):
        receiver = self.other.transport
        if receiver is None or receiver.is_closing():
            self.transport.abort()
        elif data:
            receiver.write(data)
        else:
            self.has_ended = True
            if self.other.has_ended:
                receiver.close()
                self.transport.close()
            else:
                receiver.write_eof()


async def serve(line, port):
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Half(line, 0), "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--listen", type=int, required=True, help="a port on loopback")
    parser.add_argument("--target", type=int, required=True, help="the server's port on loopback")
    parser.add_argument("--rtt", type=float, required=True, help="milliseconds")
    parser.add_argument("--rate", type=float, help="bytes a second, for all; default: no limit")
    parser.add_argument("--window", type=float, default=16e6, help="bytes of a connection (16e6)")
    arguments = parser.parse_args()
    line = Line(arguments.rtt / 1000, arguments.rate, arguments.window)
    line.target = arguments.target
    # epoll(7) counts in milliseconds, which is a round trip of some of these lines; select(2) in
    # microseconds, for up to a thousand descriptors.
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    asyncio.set_event_loop(loop)
    loop.run_until_complete(serve(line, arguments.listen))


if __name__ == "__main__":
    main()
