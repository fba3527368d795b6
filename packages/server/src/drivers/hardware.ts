/** Clusters, hosts, their settings and management controllers. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by the kinds that need it
export interface Hardware {}
