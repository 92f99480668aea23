extension String {
    /// Joins texts in one allocation; an interpolation grows its result with each.
    package init(joining texts: String...) {
        self.init(unsafeUninitializedCapacity: texts.reduce(0) { $0 + $1.utf8.count }) { room in
            var end = 0
            for var text in texts {
                text.withUTF8 { bytes in
                    let rest = UnsafeMutableBufferPointer(rebasing: room[end...])
                    UnsafeMutableRawBufferPointer(rest).copyMemory(from: .init(bytes))
                    end += bytes.count
                }
            }
            return end
        }
    }
}
