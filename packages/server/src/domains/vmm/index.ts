/** What the operations of vmm do: one line a kind, sorted. */
export const vmm = {}
