extension Summary {
    /// Writes the summary as members of an object.
    public func writeMembers(to json: inout JSONWriter) {
        json.member("exit", exit)
        json.key("error")
        if let error {
            json.object { error.writeMembers(to: &$0) }
        } else {
            json.null()
        }
        json.member("root", root)
        json.member("resources", resources)
        for outcome in Outcome.allCases {
            json.key(named: outcome.summaryKey)
            json.number(self[outcome])
        }
        json.member("failedOptional", failedOptional)
        json.member("removed", removed)
        json.member("orphans", orphans)
        json.member("unverified", unverified)
        json.member("setsLeft", setsLeft)
        json.member("bytesReceived", bytesReceived)
        json.member("bytesReused", bytesReused)
        json.member("partBytes", partBytes)
        json.member("requests", requests)
        json.key("seconds")
        json.number(seconds, decimals: 3)
    }

    /// The summary as a JSON object.
    public var json: String {
        var json = JSONWriter()
        json.object { writeMembers(to: &$0) }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

extension Outcome {
    /// The name of the summary's member that counts it.
    package var summaryKey: String {
        switch self {
        case .notModified: "revalidated"
        case .conflict: "conflicts"
        default: rawValue
        }
    }
}
