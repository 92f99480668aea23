extension PlanTotals {
    /// Writes the totals as members of an object.
    public func writeMembers(to json: inout JSONWriter) {
        json.key("steps")
        json.object { json in
            for kind in Step.Kind.allCases {
                json.key(named: kind.rawValue)
                json.number(steps[kind, default: 0])
            }
        }
        json.member("bytesToFetch", bytesToFetch)
        json.member("unknownSizes", unknownSizes)
        json.member("bytesReused", bytesReused)
        json.member("bytesToCopy", bytesToCopy)
        json.member("requests", requests)
        json.member("orphans", orphans)
        json.key("leftOut")
        json.array { json in
            for entry in leftOut { entry.write(to: &json) }
        }
    }
}
