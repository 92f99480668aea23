extension String {
    /// Joins texts in one allocation; an interpolation grows its result with each.
    package init(joining texts: String...) {
        self.init(unsafeUninitializedCapacity: texts.reduce(0) { $0 + $1.utf8.count }) { room in
            var end = 0
            for var text in texts {
                text.withUTF8 { end = room[end...].update(fromContentsOf: $0) }
            }
            return end
        }
    }
}
