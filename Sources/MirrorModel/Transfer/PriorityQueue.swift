/// A binary heap: the first element by an order comes out first.
package struct PriorityQueue<Element: Comparable> {
    private var heap: [Element] = []

    package init() {}

    package var isEmpty: Bool { heap.isEmpty }
    package var count: Int { heap.count }
    package var first: Element? { heap.first }

    package mutating func insert(_ element: Element) {
        heap.append(element)
        rise(from: heap.count - 1)
    }

    package mutating func popFirst() -> Element? { heap.isEmpty ? nil : remove(at: 0) }

    /// Removes the element at a position of the heap, from 0 to `count - 1`; 0 is the first.
    mutating func remove(at position: Int) -> Element {
        let last = heap.removeLast()
        guard position < heap.count else { return last }
        let removed = heap[position]
        heap[position] = last
        rise(from: position)
        sink(from: position)
        return removed
    }

    private mutating func rise(from position: Int) {
        var child = position
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func sink(from position: Int) {
        var parent = position
        while true {
            var least = parent
            let (left, right) = (2 * parent + 1, 2 * parent + 2)
            if left < heap.count, heap[left] < heap[least] { least = left }
            if right < heap.count, heap[right] < heap[least] { least = right }
            if least == parent { return }
            heap.swapAt(least, parent)
            parent = least
        }
    }
}

extension PriorityQueue: Sendable where Element: Sendable {}
