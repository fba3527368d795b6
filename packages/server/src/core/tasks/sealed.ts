/** What a task's row keeps sealed, as plain texts below `runner`: the steps' input and outputs may hold secrets. */
export const sealedInTask = ['input', 'outputs'] as const

export const aboutTask = (extId: string, field: (typeof sealedInTask)[number]): string => `task/${extId}/${field}`
