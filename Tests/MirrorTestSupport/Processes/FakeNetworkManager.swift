internal import Glibc

/// A message bus with a NetworkManager on it that has no more than the property Metered.
package final class FakeNetworkManager: Sendable {
    /// The address of the bus.
    package let address: String
    private let bus: Command
    private let service: Command

    /// Starts the bus and the service, and waits until it can be asked.
    package init(metered: Int, in folder: Folder) throws {
        let socket = folder.full("bus")
        address = "unix:path=\(socket)"
        bus = try Command(
            "/usr/bin/dbus-daemon",
            ["--session", "--nofork", "--nopidfile", "--address=unix:path=\(socket)"],
            environment: ["PATH": "/usr/bin:/bin"])
        try FakeNetworkManager.wait(for: folder, "bus")
        try folder.write("manager.py", Array(FakeNetworkManager.script.utf8))
        service = try Command(
            "/usr/bin/python3", [folder.full("manager.py"), "\(metered)", folder.full("ready")],
            environment: ["PATH": "/usr/bin:/bin", "DBUS_SYSTEM_BUS_ADDRESS": address])
        try FakeNetworkManager.wait(for: folder, "ready")
    }

    /// Makes the bus stand still: it takes connections, and answers nobody.
    package func standStill() { bus.signal(SIGSTOP) }

    /// Ends both.
    package func stop() {
        for command in [service, bus] {
            command.signal(SIGKILL)
            _ = command.wait()
        }
    }

    private static func wait(for folder: Folder, _ name: String) throws {
        for _ in 0..<600 {
            if folder.entries().contains(where: { $0.name == name }) { return }
            Pause.milliseconds(50)
        }
        throw StoryFailure("\(folder.full(name)) did not appear")
    }

    private static let script = """
        import sys, dbus, dbus.service, dbus.mainloop.glib
        from gi.repository import GLib

        class Manager(dbus.service.Object):
            @dbus.service.method("org.freedesktop.DBus.Properties", "ss", "v")
            def Get(self, interface, name):
                assert (interface, name) == ("org.freedesktop.NetworkManager", "Metered")
                return dbus.UInt32(int(sys.argv[1]))

        dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
        bus = dbus.SystemBus()
        name = dbus.service.BusName("org.freedesktop.NetworkManager", bus)
        manager = Manager(bus, "/org/freedesktop/NetworkManager")
        open(sys.argv[2], "w").close()
        GLib.MainLoop().run()
        """
}
