import ArgumentParser
import MirrorKit
import MirrorModel

/// When transfers may run; what may not is deferred.
struct PermissionOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Fetch only at these local times, e.g. 01:00-06:00,22:00-24:00; the rest is deferred.",
            valueName: "times"))
    var window: DailyWindows?

    @Flag(name: .long, help: "Fetch nothing while NetworkManager says that the network is metered.")
    var unlessMetered = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Body bytes that may arrive in a day, week or month, e.g. 10GiB/month.",
            valueName: "budget"))
    var budget: TransferBudget?

    /// The permission that the options give.
    var permission: TransferPermission {
        var permission = TransferPermission()
        permission.windows = window
        permission.needsUnmeteredNetwork = unlessMetered
        permission.budget = budget
        return permission
    }
}
