internal import MirrorModel

/// A value and its place.
struct Located<Value> {
    var value: Value
    var place: TextPosition
}

/// A resource while its keys are read, in any order.
final class ResourceDraft {
    /// Where the resource begins.
    let place: TextPosition
    /// How many errors there were before it.
    let errorsBefore: Int
    var path: Located<String>?
    var url: Located<String>?
    var mirrors: [MirrorDraft] = []
    var size: Int64?
    var digests: [Located<Digest>] = []
    var pieces: Located<Pieces>?
    var type: MediaRange?
    var refresh: Refresh?
    var method: Located<String>?
    var body: Located<Template>?
    var headers: [HeaderField] = []
    var priority: Int32?
    var isExecutable = false
    var isOptional = false
    var isUrgent = false
    var tags: [String] = []
    /// Whether keys are there, even with an unusable value: then they are not reported as missing.
    var hasURL = false
    var hasBody = false

    init(place: TextPosition, errorsBefore: Int) {
        self.place = place
        self.errorsBefore = errorsBefore
    }
}

/// A mirror while its keys are read.
struct MirrorDraft {
    let place: TextPosition
    var url: Located<String>?
    var headers: [HeaderField] = []
}

/// Pieces while their keys are read; there can be very many.
final class PiecesDraft {
    let place: TextPosition
    var length: Int64?
    var packed: [UInt8] = []
    var isSound = true

    init(place: TextPosition) { self.place = place }
}

/// The values for every resource that does not declare its own.
struct ManifestDefaults {
    var directory = Area.caches.rawValue
    var refresh: Refresh?
    var headers: [HeaderField] = []
    var priority: Int32 = 0
    var tags: [String] = []
}
