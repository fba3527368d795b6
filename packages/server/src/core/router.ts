import type { Method, Namespace, Operation } from '@hyperplane/contract'

export type Route =
  | {
      readonly found: 'operation'
      readonly namespace: Namespace
      readonly operation: Operation
      readonly version: string
      readonly requestedVersion: string
      readonly path: Readonly<Record<string, string>>
    }
  | { readonly found: 'method'; readonly namespace: Namespace; readonly allowed: readonly Method[] }
  | { readonly found: 'nothing'; readonly namespace: Namespace | undefined }

interface Node {
  readonly literal: Map<string, Node>
  variable?: Node
  readonly methods: Map<Method, { operation: Operation; names: readonly string[] }>
}

const node = (): Node => ({ literal: new Map(), methods: new Map() })

export interface Router {
  route(method: string, path: string): Route
  readonly namespaces: ReadonlyMap<string, Namespace>
  readonly base: string
}

function rootsOf(namespaces: readonly Namespace[]): ReadonlyMap<string, ReadonlyMap<string, Node>> {
  const roots = new Map(namespaces.map((namespace) => [namespace.name, new Map<string, Node>()]))
  const insert = (operation: Operation, version: string): void => {
    const { namespace, method, path } = operation
    const versions = roots.get(namespace) as Map<string, Node>
    let at = versions.get(version) ?? node()
    versions.set(version, at)
    const names: string[] = []
    for (const segment of path.split('/').slice(1)) {
      if (segment.startsWith('{')) {
        names.push(segment.slice(1, -1))
        at = at.variable ??= node()
      } else {
        let next = at.literal.get(segment)
        if (next === undefined) at.literal.set(segment, (next = node()))
        at = next
      }
    }
    if (!at.methods.has(method)) at.methods.set(method, { operation, names })
  }
  for (const namespace of namespaces) {
    for (const operation of namespace.operations) {
      for (const version of operation.versions) insert(operation, version)
    }
  }
  return roots
}

/** `loose`: the nearest served minor version answers for others of its major. */
export function createRouter(
  namespaces: readonly Namespace[],
  options: { readonly loose: boolean; readonly base?: string },
): Router {
  const byName = new Map(namespaces.map((namespace) => [namespace.name, namespace]))
  const roots = rootsOf(namespaces)
  const servedVersion = (namespace: Namespace, requested: string): string | undefined => {
    if (namespace.versions.includes(requested)) return requested
    const [, major, minor] = /^v(\d+)\.(\d+)/.exec(requested) ?? []
    if (!options.loose || minor === undefined) return undefined
    const distance = (version: string): number => Math.abs(Number(/\.(\d+)/.exec(version)?.[1]) - Number(minor))
    return namespace.versions
      .filter((version) => version.startsWith(`v${major}.`))
      .sort((a, b) => distance(a) - distance(b))[0]
  }

  return {
    namespaces: byName,
    base: options.base ?? '/api',
    route(method, path) {
      const segments = path.split('/')
      const namespace = byName.get(segments[1] ?? '')
      if (namespace === undefined) return { found: 'nothing', namespace }
      const requestedVersion = segments[2] ?? ''
      const version = servedVersion(namespace, requestedVersion)
      const root = version === undefined ? undefined : roots.get(namespace.name)?.get(version)
      if (root === undefined || version === undefined) return { found: 'nothing', namespace }
      const values: string[] = []
      const match = find(root, segments, 3, values)
      if (match === undefined) return { found: 'nothing', namespace }
      const entry = match.methods.get((method === 'HEAD' ? 'GET' : method) as Method)
      if (entry === undefined) return { found: 'method', namespace, allowed: [...match.methods.keys()].sort() }
      const parameters: Record<string, string> = {}
      for (let index = 0; index < values.length; index++)
        parameters[entry.names[index] as string] = values[index] as string
      return {
        found: 'operation',
        namespace,
        operation: entry.operation,
        version,
        requestedVersion: requestedVersion,
        path: parameters,
      }
    },
  }
}

/** Prefers literal segments to variables; backtracks from dead ends. */
function find(at: Node, segments: readonly string[], index: number, values: string[]): Node | undefined {
  if (index === segments.length) return at.methods.size > 0 ? at : undefined
  const segment = segments[index] as string
  const literal = at.literal.get(segment)
  if (literal !== undefined) {
    const found = find(literal, segments, index + 1, values)
    if (found !== undefined) return found
  }
  if (at.variable === undefined || segment === '') return undefined
  values.push(segment)
  const found = find(at.variable, segments, index + 1, values)
  if (found === undefined) values.pop()
  return found
}
