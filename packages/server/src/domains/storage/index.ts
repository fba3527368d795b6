/** What the operations of storage do: one line a kind, sorted. */
export const storage = {}
