/** What the operations of networking do: one line a kind, sorted. */
export const networking = {}
