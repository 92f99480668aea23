@testable import MirrorKit
import Testing

/// What the name of a wheel says, and which file of a release pip would take.
@Suite struct WheelTests {
    @Test(arguments: [
        ("a-1.0-py3-none-any.whl", ["any", "py3"]),
        ("a-1.0-py2.py3-none-any.whl", ["any", "py2", "py3"]),
        (
            "a-1.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            ["linux", "x86_64", "cp312"]
        ),
        ("a-1.0-1-cp312-abi3-musllinux_1_2_aarch64.whl", ["linux", "musl", "aarch64", "cp312"]),
        ("a-1.0-cp312-cp312-win_amd64.whl", ["windows", "x86_64", "cp312"]),
        ("a-1.0-cp312-cp312-win32.whl", ["windows", "x86", "cp312"]),
        (
            "a-1.0-cp312-cp312-macosx_11_0_universal2.whl",
            ["macos", "universal2", "arm64", "x86_64", "cp312"]
        ),
        ("a-1.0-cp312-cp312-linux_armv7l.whl", ["linux", "armv7l", "cp312"]),
    ])
    func aNameHasTags(_ name: String, _ tags: [String]) throws {
        #expect(try #require(WheelName(name)).tags == tags)
    }

    @Test(arguments: [
        "a.whl", "a-1.0.whl", "a-1.0-py3-none.whl", "a-1.0--py3-none-any.whl",
        "a-1.0-1-2-py3-none-any.whl", "a-1.0-py3-none-any.zip", ".whl", "-----.whl",
    ])
    func anotherNameIsNoWheel(_ name: String) { #expect(WheelName(name) == nil) }

    private func table(_ names: [String]) throws -> ResourceTable {
        ResourceTable(
            try names.map { name in
                var resource = try Resource("Caches/python/\(name)", from: "https://h/\(name)")
                resource.tags = WheelName(name)?.tags ?? ["sdist"]
                return resource
            })
    }

    private func chosen(
        _ names: [String], platform: String? = nil, python: String? = nil
    ) throws -> [String] {
        let target = try #require(try WheelTarget(platform: platform, python: python))
        let leftOut = target.leftOut(of: try table(names))
        return names.indices.filter { !leftOut.contains($0) }.map { names[$0] }
    }

    private let numpy = [
        "numpy-2.0-cp311-cp311-manylinux_2_17_x86_64.whl",
        "numpy-2.0-cp312-cp312-macosx_11_0_arm64.whl",
        "numpy-2.0-cp312-cp312-manylinux_2_17_aarch64.whl",
        "numpy-2.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "numpy-2.0-cp312-cp312-manylinux_2_28_x86_64.whl",
        "numpy-2.0-cp312-cp312-musllinux_1_2_x86_64.whl", "numpy-2.0-cp312-cp312-win_amd64.whl",
        "numpy-2.0.tar.gz",
    ]

    @Test func oneFileOfAReleaseIsChosen() throws {
        let linux = try chosen(numpy, platform: "manylinux_2_34_x86_64", python: "3.12")
        #expect(linux == [numpy[4]])
        let older = try chosen(numpy, platform: "manylinux2014_x86_64", python: "3.12.4")
        #expect(older == [numpy[3]])
        #expect(try chosen(numpy, platform: "linux_aarch64", python: "3.12") == [numpy[2]])
        #expect(try chosen(numpy, platform: "musllinux_1_2_x86_64", python: "3.12") == [numpy[5]])
        #expect(try chosen(numpy, platform: "macosx_14_0_arm64", python: "3.12") == [numpy[1]])
        #expect(try chosen(numpy, platform: "win_amd64", python: "3.12") == [numpy[6]])
    }

    @Test func withoutAWheelTheSourceIsChosen() throws {
        #expect(try chosen(numpy, platform: "win32", python: "3.12") == ["numpy-2.0.tar.gz"])
        #expect(try chosen(numpy, platform: "win_amd64", python: "3.9") == ["numpy-2.0.tar.gz"])
    }

    private func missed(
        _ names: [String], _ selection: Selection, narrowing: Selection = Selection()
    ) throws -> [String] {
        var manifest = Manifest(name: "m", owner: "m", resources: try table(names))
        manifest.selection = selection
        manifest.leaveOutUnfitReleases(narrowing)
        return manifest.leftOut.map { "\($0.name): \($0.reason)" }
    }

    @Test func aReleaseWithoutAFittingFileIsLeftOut() throws {
        let target = try #require(try WheelTarget(platform: "win32", python: "3.12"))
        let all = Selection(wheels: target)
        let wheels = Array(numpy.dropLast()) + ["other-1-py3-none-any.whl"]
        let sentence = "numpy 2.0: it has no file for Python 3.12 on win32"
        #expect(try missed(numpy, all) == [])
        #expect(try missed(wheels, all) == [sentence])
        #expect(try missed(wheels, Selection(), narrowing: all) == [sentence])
        #expect(try missed(wheels, Selection()) == [])
    }

    @Test func aReleaseThatIsNotWantedIsNotMissed() throws {
        let target = try #require(try WheelTarget(platform: "win32", python: "3.12"))
        let wheels = Array(numpy.dropLast())
        #expect(try missed(wheels, Selection(only: ["other"], wheels: target)) == [])
        #expect(try missed(wheels, Selection(skip: ["numpy-*"], wheels: target)) == [])
        let narrowing = Selection(wheels: target)
        #expect(try missed(wheels, Selection(only: ["other"]), narrowing: narrowing) == [])
        // `sdist` is no release: without it numpy is missed.
        #expect(
            try missed(numpy, Selection(skip: ["sdist"], wheels: target))
                == ["numpy 2.0: it has no file for Python 3.12 on win32 without sdist"])
    }

    @Test func whatIsNotGivenIsNotChosen() throws {
        #expect(try chosen(numpy, platform: "win_amd64") == [numpy[6]])
        #expect(
            try chosen(numpy, platform: "manylinux_2_28_x86_64") == [numpy[0], numpy[4]])
        #expect(try chosen(numpy, python: "3.11") == [numpy[0]])
    }

    @Test func theBestOfSeveralIsChosen() throws {
        let names = [
            "c-1-py3-none-any.whl", "c-1-cp38-abi3-manylinux_2_17_x86_64.whl",
            "c-1-cp311-abi3-manylinux_2_17_x86_64.whl", "c-1-py3-none-manylinux_2_17_x86_64.whl",
        ]
        let platform = "manylinux_2_17_x86_64"
        #expect(try chosen(names, platform: platform, python: "3.12") == [names[2]])
        #expect(try chosen(names, platform: platform, python: "3.10") == [names[1]])
        #expect(try chosen(names, platform: platform, python: "3.7") == [names[3]])
        #expect(try chosen(names, platform: "any", python: "3.7") == [names[0]])
        let builds = ["c-1-1-py3-none-any.whl", "c-1-10-py3-none-any.whl", "c-1-py3-none-any.whl"]
        #expect(try chosen(builds, platform: "any", python: "3.12") == [builds[1]])
        let names2 = ["C_d.e-1-py3-none-any.whl", "c-d-e-1.tar.gz", "other-1.tar.gz"]
        #expect(try chosen(names2, platform: "any", python: "3.12") == [names2[0], names2[2]])
    }

    @Test(arguments: ["", "2.7", "3", "3.x", "cp312", "3.12.1.0", "-3.12", "3.-1"])
    func aWrongVersionIsRefused(_ python: String) {
        #expect(throws: MirrorError.self) { try WheelTarget(platform: nil, python: python) }
    }

    @Test(arguments: [
        "", "linux", "manylinux_2_x86_64", "win_x_y", "macosx_14_arm64", "any_1",
        "manylinux_2_28_x86-64", "manylinux_2_28_x64", "macosx_14_0_aarch65",
    ])
    func aWrongPlatformIsRefused(_ platform: String) {
        #expect(throws: MirrorError.self) { try WheelTarget(platform: platform, python: nil) }
    }

    @Test func theChoiceSurvivesTheIndex() throws {
        let wheels = try WheelTarget(platform: "win_amd64", python: "3.12")
        let selection = Selection(only: ["x"], wheels: wheels)
        #expect(Selection(lines: selection.lines.joined(separator: "\n")) == selection)
        #expect("\(selection)" == "x, wheels for Python 3.12 on win_amd64")
    }
}
