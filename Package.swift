// swift-tools-version: 6.1
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

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
        // The library, in one module, so that most declarations need no word about their visibility.
        // `Model/` has the values and decisions, and compiles without the rest (`scripts/test`).
        .target(
            name: "MirrorKit",
            dependencies: [
                "CCurl", "CSQLite", "CXML2", "CCrypto", "CMicrohttpd", "CLinux", "CCompression",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "mirror",
            dependencies: [
                "MirrorKit",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),
        .systemLibrary(
            name: "CTestSupport", path: "Tests/CTestSupport", pkgConfig: "libxml-2.0"),
        // The program of docs/library.md: built with the tests, so that it cannot fall behind.
        .executableTarget(
            name: "prefetch", dependencies: ["MirrorKit"],
            path: "docs/examples/prefetch", swiftSettings: strict),
        .target(
            name: "MirrorTestSupport", dependencies: ["CCrypto", "CSQLite", "CTestSupport"],
            path: "Tests/MirrorTestSupport", swiftSettings: strict,
            linkerSettings: [.linkedLibrary("crypto")]),
        .executableTarget(
            name: "mirror-library-driver", dependencies: ["MirrorKit"],
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
            name: "MirrorFuzzing", dependencies: ["MirrorKit"],
            path: "Tests/MirrorFuzzing", swiftSettings: strict),
        .executableTarget(
            name: "mirror-fuzz", dependencies: ["MirrorFuzzing", "CTestSupport"],
            path: "Tests/MirrorFuzz", swiftSettings: strict),
        // Transfers in virtual time. It looks into the library, so it is built for tests only.
        .target(
            name: "MirrorSimulation",
            dependencies: ["MirrorKit", "MirrorTestSupport"],
            path: "Tests/MirrorSimulation", swiftSettings: strict),
        .executableTarget(
            name: "mirror-simulate", dependencies: ["MirrorSimulation"],
            path: "Tests/MirrorSimulate", swiftSettings: strict),
        .testTarget(
            name: "MirrorModelTests", dependencies: ["MirrorKit", "MirrorTestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "MirrorKitTests",
            dependencies: [
                "MirrorKit", "MirrorTestSupport", "MirrorFuzzing", "CTestSupport", "CCurl",
                "MirrorSimulation",
            ],
            exclude: [
                "Manifests/good", "Manifests/bad", "Manifests/json-schema.py",
                "Imports/lists",
                "Imports/bad",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "MirrorCommandTests",
            dependencies: [
                "MirrorKit", "MirrorTestSupport", "mirror", "mirror-library-driver",
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
