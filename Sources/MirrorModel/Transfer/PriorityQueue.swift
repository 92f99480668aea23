/// A binary heap: the first element by an order comes out first.
package struct PriorityQueue<Element: Comparable> {
    private var heap: [Element] = []

    package init() {}

    package var isEmpty: Bool { heap.isEmpty }
    package var count: Int { heap.count }
    package var first: Element? { heap.first }

    package mutating func insert(_ element: Element) {
        heap.append(element)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    package mutating func popFirst() -> Element? {
        guard let last = heap.popLast() else { return nil }
        guard let first = heap.first else { return last }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            let (left, right) = (2 * parent + 1, 2 * parent + 2)
            if left < heap.count, heap[left] < heap[least] { least = left }
            if right < heap.count, heap[right] < heap[least] { least = right }
            if least == parent { return first }
            heap.swapAt(least, parent)
            parent = least
        }
    }
}

extension PriorityQueue: Sendable where Element: Sendable {}
