/// One thing that a scripted server does while it answers.
public enum ReplyStep: Sendable {
    /// Sends bytes.
    case send([UInt8])
    /// Sends a head and the part of the bytes that the request's Range asks for.
    case sendAsked(head: [String], [UInt8])
    /// Sends bytes a few at a time.
    case trickle([UInt8], count: Int, milliseconds: Int)
    /// Sends the same bytes again and again until the peer goes.
    case endless([UInt8])
    /// Waits, or until the peer goes.
    case pause(milliseconds: Int)
    /// Waits until the peer goes.
    case hold
    /// Waits until so many requests have come to this server.
    case waitForRequests(Int)
    /// Sends a signal to the process under test.
    case signal(Int32)
    /// Ends the connection with a FIN.
    case finish
    /// Ends the connection with an RST.
    case reset
}

/// A request that is expected once or more often, and what it is answered with.
public struct Exchange: Sendable {
    /// How often the request is expected.
    public enum Occurrence: Sendable { case once, optional, always }
    /// What a header of the request must be.
    public enum Need: Sendable {
        case present(name: String, value: String?)
        case absent(name: String)
        case body([UInt8])
        case freshConnection
    }

    /// The line of the scenario that it stands in.
    public var line: Int
    /// The method.
    public var method: String
    /// The path and the query.
    public var path: String
    /// How often it is expected.
    public var occurrence = Occurrence.once
    /// What a request must look like for this exchange to be its.
    public var conditions: [Need] = []
    /// What the request must look like.
    public var needs: [Need] = []
    /// The answer.
    public var reply: [ReplyStep] = []
}

extension Exchange.Need {
    /// What a request lacks; nil when the need is met.
    func complaint(about request: ReceivedRequest) -> String? {
        switch self {
        case .present(let name, let value):
            let values = request.values(of: name)
            if let value {
                return values == [value]
                    ? nil : "\(name) is \(values), and \"\(value)\" was expected"
            }
            return values.isEmpty ? "\(name) is absent" : nil
        case .absent(let name):
            let values = request.values(of: name)
            return values.isEmpty ? nil : "\(name) is \(values), and none was expected"
        case .body(let bytes):
            return request.body == bytes
                ? nil : "the body is \"\(String(decoding: request.body, as: UTF8.self))\""
        case .freshConnection:
            return request.ordinal == 1 ? nil : "it came on a used connection"
        }
    }
}
