/// The origins of a scenario's phase on their own, for a person or a script to talk to.
public struct ScenarioServer: Sendable {
    /// The origin of the `on` lines.
    public let server: OriginServer
    /// Its script.
    public let script: ScriptedOrigin

    /// Serves a phase's exchanges, the first is 1; throws `ScenarioFlaw` or `ListenFailure`.
    public init(_ text: String, port: UInt16 = 0, phase: Int = 1) throws {
        let script = ScriptedOrigin([])
        server = try OriginServer(port: port, responder: script)
        self.script = script
        let texts = [
            "ORIGIN": server.url, "ORIGIN2": "http://127.0.0.1:9", "AUTHORITY": server.authority,
            "CLOSED": "http://127.0.0.1:9", "ROOT": ".", "DIR": ".", "MANIFEST": "manifest.json",
        ]
        let scenario = try ScenarioReader.read(text, texts)
        script.expect(scenario.phases.dropFirst(phase - 1).first?.exchanges.first ?? [])
    }
}
