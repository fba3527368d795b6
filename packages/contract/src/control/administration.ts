/** What all operations of the control interface have in common. Source: DESIGN D; decision worlds-and-their-control. */
import { perSecond } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import { text } from '../schema.ts'

/** As it stands in host names, headers and paths; lower and upper case are the same world. */
export const worldName = text({ minLength: 1, maxLength: 63, pattern: '^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$' })

const administrators: readonly RoleName[] = ['Super Admin']

/** Of every operation: who may call it, and that it answers when all is done. */
export const controlled = {
  roles: administrators,
  rateLimit: perSecond(1000),
  runs: 'sync',
  pathSchemas: { worldName },
  pathKinds: { worldName: 'World' },
} as const
