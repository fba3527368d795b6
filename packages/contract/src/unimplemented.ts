import type { Method } from './method.ts'

/**
 * Operations that are known and not built yet; they answer 501. Each row has a path and what it lacks:
 * - `Subnet: 'list get create update delete'`: these operations of a kind, with their usual names and paths;
 * - `upgradeGatewayById: 'upgrade'`: the POST to `<path>/{extId}/$actions/upgrade`;
 * - `fetchTaskResponse: 'GET /{extId}'`: method, and the rest of the path.
 * A version in front (`v4.2 list get`) is the only one that serves them.
 */
export type Unimplemented = Readonly<Record<string, Readonly<Record<string, string>>>>

export interface UnimplementedOperation {
  readonly id: string
  readonly method: Method
  readonly path: string
  /** Absent: every version of the namespace. */
  readonly versions?: readonly string[]
}

export function operationsOf(rows: Unimplemented): readonly UnimplementedOperation[] {
  const found: UnimplementedOperation[] = []
  for (const [path, row] of Object.entries(rows)) {
    for (const [name, text] of Object.entries(row)) {
      const [, version, what = ''] = /^(?:(v[\d.]+) )?(.*)$/.exec(text) ?? []
      const served = version === undefined ? {} : { versions: [version] }
      for (const operation of lackingIn(path, name, what)) found.push({ ...operation, ...served })
    }
  }
  return found.sort((one, other) => (one.id < other.id ? -1 : 1))
}

function lackingIn(path: string, name: string, what: string): readonly UnimplementedOperation[] {
  if (/^[A-Z]/.test(name)) return what.split(' ').map((verb) => usual(path, name, verb))
  const [, method, rest = ''] = /^([A-Z]+) ?(.*)$/.exec(what) ?? []
  if (method !== undefined) return [{ id: name, method: method as Method, path: path + rest }]
  return [{ id: name, method: 'POST', path: `${path}/{extId}/$actions/${what}` }]
}

function usual(path: string, kind: string, verb: string): UnimplementedOperation {
  switch (verb) {
    case 'list': {
      const plural = kind.replace(/([^aeiou])y$/, '$1ie').replace(/(s|x|ch|sh)$/, '$1e')
      const owner = /.*\{(\w)(\w*)ExtId\}/.exec(path)
      const by = owner === null ? '' : `By${owner[1]?.toUpperCase()}${owner[2]}Id`
      return { id: `list${plural}s${by}`, method: 'GET', path }
    }
    case 'create':
      return { id: `create${kind}`, method: 'POST', path }
    case 'get':
      return { id: `get${kind}ById`, method: 'GET', path: `${path}/{extId}` }
    case 'update':
      return { id: `update${kind}ById`, method: 'PUT', path: `${path}/{extId}` }
    case 'delete':
      return { id: `delete${kind}ById`, method: 'DELETE', path: `${path}/{extId}` }
    default:
      throw new Error(`${kind} at ${path}: "${verb}" is none of list, get, create, update, delete`)
  }
}
