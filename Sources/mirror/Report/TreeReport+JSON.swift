import MirrorKit

extension TreeReport {
    /// Writes the report as one JSON document. Keys that do not apply are null.
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("v", 1)
            json.member("root", root)
            json.member("made", madeAt.rfc3339)
            json.key("totals")
            json.object { totals.writeMembers(to: &$0) }
            json.key("shares")
            json.object { shares.writeMembers(to: &$0) }
            json.key("attention")
            json.array { json in
                for attention in TreeTotals.Attention.allCases {
                    guard let group = totals.groups[attention] else { continue }
                    json.object { json in
                        json.member("state", attention.rawValue)
                        json.member("count", group.count)
                        json.member("paths", group.targets.map(\.path))
                    }
                }
            }
            json.key("hosts")
            json.array { json in
                for host in hosts.hosts { json.object { host.writeMembers(to: &$0) } }
            }
            json.key("manifests")
            json.array { json in for manifest in manifests { manifest.write(to: &json) } }
            json.key("lastRun")
            if let lastRun { json.object { lastRun.writeMembers(to: &$0) } } else { json.null() }
            json.key("runs")
            json.array { json in for run in runs { run.write(to: &json) } }
            json.key("files")
            json.array { json in for file in files { file.write(to: &json) } }
            json.member("moreFiles", moreFiles)
        }
    }
}

extension TreeTotals {
    /// Writes the totals as members of an object.
    func writeMembers(to json: inout JSONWriter) {
        for kind in StoredFile.State.allCases {
            json.key(named: kind.rawValue)
            json.number(counts[kind] ?? 0)
        }
        json.member("files", files)
        json.member("bytes", bytes)
        json.member("due", due)
        json.member("orphans", orphans)
        json.member("parts", parts)
        json.member("partBytes", partBytes)
        json.member("paused", groups[.paused]?.count ?? 0)
    }
}

extension FileShares {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.key("areas")
        json.object { json in
            for area in Area.allCases { areas[area].write(area.rawValue, to: &json) }
        }
        json.key("freshness")
        json.object { json in
            for age in Age.allCases { ages[age].write(age.rawValue, to: &json) }
        }
        json.key("verified")
        json.object { json in
            for proof in [Verification.digest, .size, .none] {
                proofs[proof].write(proof.rawValue, to: &json)
            }
        }
        json.member("nextDue", nextDue?.rfc3339)
        json.member("oldestConfirmation", oldestConfirmation?.rfc3339)
    }
}

extension FileShares.Share? {
    fileprivate func write(_ key: String, to json: inout JSONWriter) {
        json.key(named: key)
        json.object { json in
            json.member("files", self?.files ?? 0)
            json.member("bytes", self?.bytes ?? 0)
        }
    }
}

extension HostFacts {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("host", host)
        json.member("files", files)
        json.member("bytes", bytes)
        json.key("validators")
        json.object { json in
            for strength in ValidatorStrength.allCases {
                json.key(named: strength.rawValue)
                json.number(validators[strength] ?? 0)
            }
        }
        json.member("ranges", rangeSupport.rawValue)
        json.member("http", versions.keys.map(\.rawValue).sorted())
        json.member("transfers", transfers)
        json.member("resumed", resumed)
        json.member("failed", failed)
        json.member("retries", retries)
        json.member("bytesReceived", received)
    }
}

extension TreeReport.LoggedRun {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("run", run.id)
        json.member("started", run.startedAt.rfc3339)
        json.member("decisions", decisions)
        json.key("failures")
        json.array { json in for group in failures.groups { group.write(to: &json) } }
        json.key("passing")
        json.array { json in for group in passing.groups { group.write(to: &json) } }
        json.member("untimed", transfers.untimed)
        json.key("timeline")
        guard !transfers.isEmpty else {
            json.null()
            return json.member("throughput", Int?.none)
        }
        let timeline = transfers.timeline(lasting: length)
        json.object { timeline.writeMembers(to: &$0) }
        json.key("throughput")
        let throughput = transfers.throughput(lasting: length)
        json.object { json in
            json.member("bytes", throughput.bytes)
            json.member("milliseconds", throughput.length)
            json.member("bucket", throughput.bucketLength)
            json.member("peak", throughput.peak)
            json.member("mean", throughput.mean)
            json.key("rates")
            json.array { json in for rate in throughput.rates { json.number(rate) } }
        }
    }
}

extension FailureCauses.Group {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("code", cause.code.rawValue)
            json.member("status", cause.status)
            json.member("host", cause.host)
            json.member("optional", cause.isOptional)
            json.member("count", count)
            json.member("message", error.message)
            json.member("paths", targets.map(\.path))
        }
    }
}

extension Timeline {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("milliseconds", length)
        json.member("transfers", transfers)
        json.member("hostsLeftOut", hostsLeftOut)
        json.key("lanes")
        json.array { json in
            for lane in lanes {
                json.object { json in
                    json.member("host", lane.host)
                    json.member("transfers", lane.transfers)
                    json.member("failed", lane.failed)
                    json.member("bytes", lane.bytes)
                    json.key("rows")
                    json.array { json in
                        for row in lane.rows {
                            json.array { json in
                                for bar in row { json.object { bar.writeMembers(to: &$0) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

extension Timeline.Bar {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("began", began)
        json.member("ended", ended)
        json.member("transfers", transfers)
        json.member("failed", failed)
        json.member("bytes", bytes)
        json.member("path", target.path)
        json.key("waits")
        json.array { json in
            for wait in waits {
                json.object { json in
                    json.member("began", wait.lowerBound)
                    json.member("ended", wait.upperBound)
                }
            }
        }
    }
}
