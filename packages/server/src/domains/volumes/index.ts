/** What the operations of volumes do: one line a kind, sorted. */
export const volumes = {}
