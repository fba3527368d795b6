/** The same name gives the same id, in every process and version. Source: conventions 3. */
import { hash } from 'node:crypto'

function uuidFrom(name: string | Buffer): string {
  const hex = hash('sha1', name)
  const variant = ((Number.parseInt(hex[16] as string, 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

export const seedId = (name: string): string => uuidFrom(`hyperplane seed\0${name}`)

export const derivedId = (...parts: readonly (string | number)[]): string =>
  uuidFrom(['hyperplane platform', ...parts].join('\0'))

export const routeId = (name: string): string => uuidFrom(`hyperplane\0${name}`)

/** Changing it would change the id of every system role. */
const catalogueRoot = Buffer.from('5f0d6c1e7b3a4b0e9a5d1c2f8e6b7a90', 'hex')

/** Equal on every instance and after upgrades: `catalogueId('role', 'Super Admin')`. */
export const catalogueId = (
  of: 'attribute' | 'client' | 'entity' | 'loginProvider' | 'operation' | 'role',
  name: string,
): string => uuidFrom(Buffer.concat([catalogueRoot, Buffer.from(`${of}/${name}`)]))
