import { resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

/** Sources that are changed, and whose coverage is measured. */
export const domains = 'packages/server/src/domains/'
