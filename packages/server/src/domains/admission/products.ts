/**
 * Products of the manager: what enabling one adds to its nodes, which kinds it opens, and what keeps it from being disabled.
 * Source: behaviour platform.md 5 (the sizes are chosen).
 */
import { contract, type Operation, type Resource } from '@hyperplane/contract'
import { Product, type ProductName } from '@hyperplane/contract/platform/product'
import { ApiError } from '../../core/api-error.ts'
import type { Reader } from '../../store/store.ts'
import { isOverlaySubnet } from './overlay.ts'

const GiB = 1024 ** 3

interface Described {
  readonly isDefault: boolean
  /** On each node of the manager. What is enabled by default is part of the manager's size. */
  readonly cpuCount: number
  readonly memorySizeBytes: number
  /** While one of these exists it cannot be disabled. */
  readonly usedBy: readonly string[]
}

export const products: { readonly [name in ProductName]: Described } = {
  FLOW_VIRTUAL_NETWORKING: { isDefault: true, cpuCount: 1, memorySizeBytes: 4 * GiB, usedBy: ['Vpc'] },
  FLOW_NETWORK_SECURITY: {
    isDefault: true,
    cpuCount: 1,
    memorySizeBytes: 2 * GiB,
    usedBy: ['NetworkFunction', 'TrafficMirror'],
  },
  NUTANIX_DISASTER_RECOVERY: { isDefault: true, cpuCount: 1, memorySizeBytes: 2 * GiB, usedBy: [] },
  SELF_SERVICE: { isDefault: false, cpuCount: 4, memorySizeBytes: 10 * GiB, usedBy: [] },
  NUTANIX_MARKETPLACE: { isDefault: false, cpuCount: 1, memorySizeBytes: 2 * GiB, usedBy: [] },
  INTELLIGENT_OPERATIONS: { isDefault: true, cpuCount: 0, memorySizeBytes: 4 * GiB, usedBy: [] },
  NUTANIX_CLOUD_MANAGER: { isDefault: false, cpuCount: 2, memorySizeBytes: 4 * GiB, usedBy: [] },
  FLOW_CONTROLLER: { isDefault: false, cpuCount: 2, memorySizeBytes: 4 * GiB, usedBy: [] },
}

/** Mutations of these kinds need the product. */
const gates: Readonly<Record<string, ProductName>> = {
  BgpSession: 'FLOW_VIRTUAL_NETWORKING',
  FloatingIp: 'FLOW_VIRTUAL_NETWORKING',
  Gateway: 'FLOW_VIRTUAL_NETWORKING',
  NetworkController: 'FLOW_VIRTUAL_NETWORKING',
  NetworkFunction: 'FLOW_NETWORK_SECURITY',
  Route: 'FLOW_VIRTUAL_NETWORKING',
  RoutingPolicy: 'FLOW_VIRTUAL_NETWORKING',
  TrafficMirror: 'FLOW_NETWORK_SECURITY',
  Vpc: 'FLOW_VIRTUAL_NETWORKING',
  VpnConnection: 'FLOW_VIRTUAL_NETWORKING',
}

/** The product that a mutation needs; `subject`: its body, and its target. */
export function productFor(operation: Operation, ...subjects: readonly unknown[]): ProductName | undefined {
  const { resource } = operation
  if (isOverlaySubnet(resource, ...subjects)) return 'FLOW_VIRTUAL_NETWORKING'
  return gates[resource?.kind ?? '']
}

/** @throws ApiError PRODUCT_NOT_ENABLED */
export async function requireProduct(store: Reader, product: ProductName): Promise<void> {
  const row = await store.findOne(Product, { name: product })
  const isEnabled = row === undefined ? products[product].isDefault : row.enablementState === 'ENABLED'
  if (!isEnabled) throw new ApiError('PRODUCT_NOT_ENABLED', { product })
}

const resources: ReadonlyMap<string, Resource> = new Map(
  contract.flatMap((namespace) => namespace.resources).map((resource) => [resource.kind, resource]),
)

/** What keeps it from being disabled, for people: `3 VPCs`; undefined: nothing. */
export async function usersOf(store: Reader, product: ProductName): Promise<string | undefined> {
  const users: string[] = []
  for (const kind of products[product].usedBy) {
    const resource = resources.get(kind)
    const count = resource === undefined || resource.derived === true ? 0 : await store.count(resource)
    if (count > 0) users.push(`${count} ${resource?.title}${count === 1 ? '' : 's'}`)
  }
  return users.length === 0 ? undefined : users.join(' and ')
}
