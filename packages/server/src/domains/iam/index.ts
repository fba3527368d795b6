/** What the operations of iam do: one line a kind, sorted. */
export const iam = {}
