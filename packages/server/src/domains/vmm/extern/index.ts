/** What the operations of the external hypervisor's kinds do: one line a kind, sorted. */
export const extern = {}
