/** Virtual disks, targets and access lists of a cluster's storage. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by the kinds that need it
export interface BlockStorage {}
