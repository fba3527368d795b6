/** Operations that are known and not built yet. This list only shrinks. Source: catalogue platform.json. */
import type { Unimplemented } from '../operation.ts'

export const unimplemented: readonly Unimplemented[] = []
