/// What is on its way between two sockets of the loopback address (proc_net_tcp(5)).
package enum SocketQueues {
    /// The bytes that the sender's kernel has and the receiving process has not read yet.
    package static func between(sender: UInt16, receiver: UInt16) -> Int {
        let table = String(decoding: Folder("/proc/net").read("tcp") ?? [], as: UTF8.self)
        var count = 0
        for line in table.split(separator: "\n").dropFirst() {
            let fields = line.split(separator: " ")
            guard fields.count > 4, let local = port(fields[1]), let other = port(fields[2])
            else { continue }
            let queues = fields[4].split(separator: ":").compactMap { Int($0, radix: 16) }
            guard queues.count == 2 else { continue }
            if local == sender, other == receiver { count += queues[0] }
            if local == receiver, other == sender { count += queues[1] }
        }
        return count
    }

    private static func port(_ address: Substring) -> UInt16? {
        address.split(separator: ":").last.flatMap { UInt16($0, radix: 16) }
    }
}
