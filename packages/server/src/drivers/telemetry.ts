/** What is measured of virtual machines, their disks and NICs. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by the kinds that need it
export interface Telemetry {}
