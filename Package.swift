// swift-tools-version: 6.1
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// The modules that `MirrorKit` is made of. A user of the library imports `MirrorKit` alone.
let parts: [Target.Dependency] = ["MirrorModel", "MirrorSystem", "MirrorManifests"]

let package = Package(
    name: "mirror",
    products: [
        .executable(name: "mirror", targets: ["mirror"]),
        .library(name: "MirrorKit", targets: ["MirrorKit"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0")
    ],
    targets: [
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "CXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(
            name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CMicrohttpd", pkgConfig: "libmicrohttpd",
            providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(
            name: "CCompression",
            providers: [.apt(["zlib1g-dev", "liblzma-dev", "libzstd-dev"])]),
        // Values and decisions. It depends on nothing, so no decision does input or output or calls C.
        .target(name: "MirrorModel", swiftSettings: strict),
        // What the modules below share: the kernel's calls, threads, clocks, digests.
        .target(
            name: "MirrorSystem", dependencies: ["MirrorModel", "CCrypto", "CLinux"],
            swiftSettings: strict),
        // Bytes to manifests and back, and other programs' lists: they touch no root and no network.
        .target(
            name: "MirrorManifests",
            dependencies: ["MirrorModel", "MirrorSystem", "CXML2", "CCompression"],
            swiftSettings: strict),
        // The way of a download, in one module, so that the compiler optimizes it as a whole.
        .target(
            name: "MirrorKit", dependencies: parts + ["CCurl", "CSQLite", "CMicrohttpd", "CLinux"],
            swiftSettings: strict),
        .executableTarget(
            name: "mirror",
            dependencies: [
                "MirrorKit", "MirrorModel", "MirrorManifests", "MirrorSystem",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),
        .systemLibrary(
            name: "CTestSupport", path: "Tests/CTestSupport", pkgConfig: "libxml-2.0"),
        // The program of docs/library.md: built with the tests, so that it cannot fall behind.
        .executableTarget(
            name: "prefetch", dependencies: ["MirrorKit", "MirrorModel"],
            path: "docs/examples/prefetch", swiftSettings: strict),
        .target(
            name: "MirrorTestSupport", dependencies: ["CCrypto", "CSQLite", "CTestSupport"],
            path: "Tests/MirrorTestSupport", swiftSettings: strict,
            linkerSettings: [.linkedLibrary("crypto")]),
        .executableTarget(
            name: "mirror-library-driver", dependencies: ["MirrorKit", "MirrorModel"],
            path: "Tests/MirrorLibraryDriver", swiftSettings: strict),
        .executableTarget(
            name: "mirror-origin", dependencies: ["MirrorTestSupport"], path: "Tests/MirrorOrigin",
            swiftSettings: strict),
        .target(
            name: "MirrorTorture", dependencies: ["MirrorTestSupport", "CTestSupport"],
            path: "Tests/MirrorTorture", swiftSettings: strict),
        .executableTarget(
            name: "mirror-torture", dependencies: ["MirrorTorture", "MirrorTestSupport"],
            path: "Tests/MirrorTortureTool", swiftSettings: strict),
        .target(
            name: "MirrorFuzzing", dependencies: ["MirrorKit"] + parts,
            path: "Tests/MirrorFuzzing", swiftSettings: strict),
        .executableTarget(
            name: "mirror-fuzz", dependencies: ["MirrorFuzzing", "CTestSupport"],
            path: "Tests/MirrorFuzz", swiftSettings: strict),
        // Transfers in virtual time. It looks into the library, so it is built for tests only.
        .target(
            name: "MirrorSimulation",
            dependencies: ["MirrorKit", "MirrorTestSupport"] + parts,
            path: "Tests/MirrorSimulation", swiftSettings: strict),
        .executableTarget(
            name: "mirror-simulate", dependencies: ["MirrorSimulation"],
            path: "Tests/MirrorSimulate", swiftSettings: strict),
        .testTarget(
            name: "MirrorModelTests", dependencies: ["MirrorModel", "MirrorTestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "MirrorKitTests",
            dependencies: [
                "MirrorKit", "MirrorTestSupport", "MirrorFuzzing", "CTestSupport", "CCurl",
                "MirrorSimulation",
            ] + parts,
            exclude: [
                "Manifests/good", "Manifests/bad", "Manifests/json-schema.py",
                "Imports/lists",
                "Imports/bad",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "MirrorCommandTests",
            dependencies: [
                "MirrorModel", "MirrorTestSupport", "mirror", "mirror-library-driver",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            exclude: ["Scenarios"], swiftSettings: strict),
        .testTarget(
            name: "MirrorTortureTests",
            dependencies: ["MirrorTorture", "MirrorTestSupport", "mirror"],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
