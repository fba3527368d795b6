import type { Unimplemented } from '../operation.ts'

/** Operations that are known and not built yet. Source: specification 4.2; catalogue storage.json. */
export const unimplemented: readonly Unimplemented[] = []
