/// What clients can make the server hold.
package struct ServerLimits: Sendable, Hashable {
    /// The threads that answer.
    package var threads = 4
    /// Connections at once; further ones wait in the kernel's queue.
    package var connections = 1024
    /// Of them, those from one address.
    package var connectionsOfAddress = 256
    /// Seconds after which a connection is closed on which no byte moved.
    package var idleSeconds = 30
    /// Seconds within which a request has come whole, since the connection or the answer before it.
    package var requestSeconds = 60
    /// Bytes of memory for a connection: the longest head of a request, and of an answer.
    package var memoryOfConnection = 32 << 10
    /// The longest body that is read into memory, to be sent in one call with its head; longer ones
    /// go from the file to the socket.
    package var bodyInMemory = 32 << 10
    /// The threads that read files whose bytes are in doubt.
    package var readers = 2

    /// The defaults.
    package init() {}
}
