/** Ids derived from names: the same name gives the same id, in every process and version. Source: conventions 3. */
import { hash } from 'node:crypto'

/** A UUID of version 5: the SHA-1 of the name, with version and variant in their places. */
function uuidFrom(name: string | Buffer): string {
  const hex = hash('sha1', name)
  const variant = ((Number.parseInt(hex[16] as string, 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** The id of a seeded entity: `seedId('cluster/hp-native-01')`. */
export const seedId = (name: string): string => uuidFrom(`hyperplane seed\0${name}`)

/** The id of an entity that follows from others: `derivedId('node', manager, 1)`. */
export const derivedId = (...parts: readonly (string | number)[]): string =>
  uuidFrom(['hyperplane platform', ...parts].join('\0'))

/** The id of a BGP route: it stays the same when its session goes down and comes back. */
export const routeId = (name: string): string => uuidFrom(`hyperplane\0${name}`)

/** Namespace of the ids below; changing it would change the id of every system role. */
const catalogueRoot = Buffer.from('5f0d6c1e7b3a4b0e9a5d1c2f8e6b7a90', 'hex')

/** The id of what the system itself defines: `catalogueId('role', 'Super Admin')`. Equal on every instance and after upgrades. */
export const catalogueId = (
  of: 'attribute' | 'client' | 'entity' | 'loginProvider' | 'operation' | 'role',
  name: string,
): string => uuidFrom(Buffer.concat([catalogueRoot, Buffer.from(`${of}/${name}`)]))
