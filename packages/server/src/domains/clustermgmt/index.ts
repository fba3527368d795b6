/** What the operations of clustermgmt do: one line a kind, sorted. */
export const clustermgmt = {}
