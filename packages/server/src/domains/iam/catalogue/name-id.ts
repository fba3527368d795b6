/** Ids of what the system itself names: equal on every instance, and after every upgrade. Source: behaviour conventions 3. */
import { createHash } from 'node:crypto'

/** Root of the names below; made once, never to change. */
const root = Buffer.from('5f0d6c1e7b3a4b0e9a5d1c2f8e6b7a90', 'hex')

/** UUID v5 of a name: `nameId('role', 'Super Admin')`. */
export function nameId(
  of: 'attribute' | 'client' | 'entity' | 'loginProvider' | 'operation' | 'role',
  name: string,
): string {
  const hash = createHash('sha1').update(root).update(`${of}/${name}`).digest()
  hash[6] = ((hash[6] as number) & 0x0f) | 0x50
  hash[8] = ((hash[8] as number) & 0x3f) | 0x80
  const hex = hash.toString('hex', 0, 16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The provider of LOCAL users and service accounts. */
export const localProviderId = nameId('loginProvider', 'local')

/** When the names of this release were made. */
export const releaseTime = '2026-01-15T00:00:00.000000Z'
