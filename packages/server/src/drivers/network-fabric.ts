/** Switches, subnets and routing peers. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by the kinds that need it
export interface NetworkFabric {}
