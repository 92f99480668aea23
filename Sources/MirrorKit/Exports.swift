// Users of the library import MirrorKit only. So MirrorKit exports the values of manifests, plans
// and runs, and the readers and writers of manifests.
@_exported public import MirrorManifests
@_exported public import MirrorModel
