/** Operations that are known and not built yet. This list only shrinks. Source: catalogue networking.json. */
import type { Unimplemented } from '../unimplemented.ts'

export const unimplemented: Unimplemented = {}
