extension Plan {
    /// Writes the plan as one JSON document, passing its bytes on in chunks of about 64 KiB.
    ///
    /// - Parameter permission: whether its transfers may run now, where that depends on something.
    public func write(
        _ permission: PermissionStatus? = nil, to sink: ([UInt8]) throws -> Void
    ) rethrows {
        var json = JSONWriter()
        json.beginObject()
        json.member("v", 1)
        json.member("root", root)
        json.key("steps")
        json.beginArray()
        for step in steps {
            json.object { write(step, to: &$0) }
            if json.bytes.count > 64 << 10 { try sink(json.take()) }
        }
        json.endArray()
        json.key("totals")
        json.object { PlanTotals(of: self).writeMembers(to: &$0) }
        let sets = AtomicSets(self).entries
        if !sets.isEmpty {
            json.key("sets")
            json.array { json in
                for set in sets {
                    json.object { json in
                        json.member("manifests", set.owners)
                        json.member("folder", set.folder)
                    }
                }
            }
        }
        if let permission {
            json.key("permission")
            json.object { permission.writeMembers(to: &$0) }
        }
        json.endObject()
        json.newline()
        try sink(json.take())
    }

    private func write(_ step: Step, to json: inout JSONWriter) {
        json.member("path", step.target.path)
        json.member("step", step.kind.rawValue)
        json.member("reason", step.reason.code)
        json.member("because", step.reason.because)
        json.member("source", source(of: step))
        json.member("size", step.size)
        json.member("offset", step.offset)
    }

    /// The origin of a step's bytes, for people: a URL without its query, or a target.
    public func source(of step: Step) -> String? {
        switch step.means {
        case .transfer: resource(of: step)?.primary.url.description
        case .copy(let target), .move(let target): target.path
        case .nothing, .adoption, .removal: nil
        }
    }
}
