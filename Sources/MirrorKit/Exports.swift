// A user of the library imports MirrorKit only. It exports the values of a manifest, a plan and a
// run, and the readers and writers of manifests.
@_exported public import MirrorManifests
@_exported public import MirrorModel
