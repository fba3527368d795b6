/** Products of the manager. Source: behaviour platform.md 5; the sizes are chosen. */
import { contract, type Operation, type Resource } from '@hyperplane/contract'
import { Product, type ProductName } from '@hyperplane/contract/platform/product'
import { ApiError } from '../../core/api-error.ts'
import type { Reader } from '../../store/store.ts'
import { gateOf } from './gates.ts'

const GiB = 1024 ** 3

interface Described {
  readonly isDefault: boolean
  /** Per node. The base size of the manager includes products that are enabled by default. */
  readonly cpuCount: number
  readonly memorySizeBytes: number
}

export const products: { readonly [name in ProductName]: Described } = {
  FLOW_VIRTUAL_NETWORKING: { isDefault: true, cpuCount: 1, memorySizeBytes: 4 * GiB },
  FLOW_NETWORK_SECURITY: { isDefault: true, cpuCount: 1, memorySizeBytes: 2 * GiB },
  NUTANIX_DISASTER_RECOVERY: { isDefault: true, cpuCount: 1, memorySizeBytes: 2 * GiB },
  SELF_SERVICE: { isDefault: false, cpuCount: 4, memorySizeBytes: 10 * GiB },
  NUTANIX_MARKETPLACE: { isDefault: false, cpuCount: 1, memorySizeBytes: 2 * GiB },
  INTELLIGENT_OPERATIONS: { isDefault: true, cpuCount: 0, memorySizeBytes: 4 * GiB },
  NUTANIX_CLOUD_MANAGER: { isDefault: false, cpuCount: 2, memorySizeBytes: 4 * GiB },
  FLOW_CONTROLLER: { isDefault: false, cpuCount: 2, memorySizeBytes: 4 * GiB },
}

export const productFor = (operation: Operation, ...subjects: readonly unknown[]): ProductName | undefined =>
  gateOf(operation, ...subjects)?.product as ProductName | undefined

export async function requireProduct(store: Reader, product: ProductName): Promise<void> {
  const row = await store.findOne(Product, { name: product })
  const isEnabled = row === undefined ? products[product].isDefault : row.enablementState === 'ENABLED'
  if (!isEnabled) throw new ApiError('PRODUCT_NOT_ENABLED', { product })
}

const users: readonly Resource[] = contract
  .flatMap((namespace) => namespace.resources)
  .filter(({ gate, derived }) => gate?.keepsProductEnabled === true && derived !== true)

/** As a text (`3 VPCs`); undefined if nothing prevents disabling the product. */
export async function usersOfProduct(store: Reader, product: ProductName): Promise<string | undefined> {
  const found: string[] = []
  for (const resource of users.filter(({ gate }) => gate?.product === product)) {
    const count = await store.count(resource)
    if (count > 0) found.push(`${count} ${resource.title}${count === 1 ? '' : 's'}`)
  }
  return found.length === 0 ? undefined : found.join(' and ')
}
