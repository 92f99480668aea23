internal import MirrorTestSupport

/// One way in which a run could wait without end.
struct LivenessCase: Sendable {
    /// Where the file is besides.
    enum Mirror: String, CaseIterable, Sendable {
        case none = "no mirror"
        case sameHost = "a mirror on the same host"
        case otherHost = "a mirror on another host"
    }

    let sickness: Sickness
    let mirror: Mirror
    let isPinned: Bool
    /// Whether an earlier run left a part.
    let hasPart: Bool
    let isHTTP2: Bool
    let segments: Int

    static let stallSeconds = 1.0
    static let retries = 2
    static let waitSeconds = 1.0

    static func all(http2: Bool) -> [LivenessCase] {
        var all: [LivenessCase] = []
        for mirror in Mirror.allCases {
            for isPinned in [true, false] {
                for hasPart in [false, true] {
                    for isHTTP2 in http2 ? [false, true] : [false] {
                        for segments in [1, 4] {
                            all += Sickness.allCases.map {
                                LivenessCase(
                                    sickness: $0, mirror: mirror, isPinned: isPinned,
                                    hasPart: hasPart, isHTTP2: isHTTP2, segments: segments)
                            }
                        }
                    }
                }
            }
        }
        return all
    }

    var title: String {
        [
            sickness.rawValue, mirror.rawValue, isPinned ? "pinned" : "unpinned",
            hasPart ? "with a part" : "without a part", isHTTP2 ? "HTTP/2" : "HTTP/1.1",
            "\(segments) connections",
        ].joined(separator: ", ")
    }

    /// Whether the file has to be there in the end; nil where that is a matter of luck.
    var comesThrough: Bool? {
        if sickness.comesThrough { return true }
        switch mirror {
        case .otherHost: return true
        // A host that is not there has no second file, and one that wants to be left alone is.
        case .sameHost: return sickness == .refused || sickness == .busyForAYear ? false : true
        // Further connections, and halves of what is left, may get it home.
        case .none:
            return sickness == .stalls || sickness == .cutEarly || sickness == .slowBody
                ? nil : false
        }
    }

    /// The seconds that the options allow: each of the tries stalls, and its body, where nobody wants
    /// it, has a second; the waits between them; and the start of the program.
    var seconds: Double {
        let tries = Double(LivenessCase.retries + 1)
        let attempt = LivenessCase.stallSeconds + 0.5
        let ladder = tries * attempt + Double(LivenessCase.retries) * LivenessCase.waitSeconds
        switch sickness {
        // Each half brings enough for another ladder, until less than 16 KiB are left.
        case .stalls: return 9 * attempt + ladder + 2
        // A stalled transfer is found out by the time in which it asks; what lies between hundreds of
        // requests is not counted, and comes on top.
        case .byteARequest: return 2 * (2 * attempt + ladder) + 2
        case .slowBody, .slowHead: return 2 * attempt + ladder + 2
        default: return ladder + 2
        }
    }
}
