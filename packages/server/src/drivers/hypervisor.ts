/** Hosts that run virtual machines. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by the kinds that need it
export interface Hypervisor {}
