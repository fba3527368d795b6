/** Source: decision worlds-and-their-control. */
import { perSecond } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'

/** Used in host names, headers and paths; names ignore case. */
export const worldName = s.text({ minLength: 1, maxLength: 63, pattern: '^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$' })

const administrators: readonly RoleName[] = ['Super Admin']

export const controlled = {
  roles: administrators,
  rateLimit: perSecond(1000),
  runs: 'sync',
  pathSchemas: { worldName },
  pathKinds: { worldName: 'World' },
} as const
