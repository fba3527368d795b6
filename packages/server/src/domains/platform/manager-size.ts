/** Resources of managers, by size, number of nodes and enabled products. Source: behaviour platform.md 4, 5. */
import { Product, type ProductName } from '@hyperplane/contract/platform/product'
import type { Tier } from '../../core/access/rate-limit.ts'
import type { Reader } from '../../store/store.ts'
import { controllerResources } from '../admission/network-controllers.ts'
import { products } from '../admission/products.ts'
import type { NodeSize } from '../scheduling/manager-nodes.ts'
import type { Manager } from './own-manager.ts'

export type Size = Manager['config']['size']

const gibibyte = 1024 ** 3

/** One node, including products that are enabled by default. */
export const sizes: { readonly [size in Size]: NodeSize & { readonly diskBytes: number } } = {
  STARTER: { vcpus: 4, memoryBytes: 18 * gibibyte, diskBytes: 100 * gibibyte },
  SMALL: { vcpus: 10, memoryBytes: 35 * gibibyte, diskBytes: 500 * gibibyte },
  LARGE: { vcpus: 18, memoryBytes: 70 * gibibyte, diskBytes: 2500 * gibibyte },
  EXTRALARGE: { vcpus: 24, memoryBytes: 134 * gibibyte, diskBytes: 2500 * gibibyte },
}

export const sizeOfTier: { readonly [tier in Tier]: Size } = {
  xsmall: 'STARTER',
  small: 'SMALL',
  large: 'LARGE',
  xlarge: 'EXTRALARGE',
}

export function resourcesOf(size: Size, nodes: number, extra: NodeSize = nothing): NonNullable<ResourceConfig> {
  const { vcpus, memoryBytes, diskBytes } = sizes[size]
  return {
    numVcpus: nodes * (vcpus + extra.vcpus),
    memorySizeBytes: nodes * (memoryBytes + extra.memoryBytes),
    dataDiskSizeBytes: nodes * diskBytes,
  }
}
type ResourceConfig = Manager['config']['resourceConfig']

const nothing: NodeSize = { vcpus: 0, memoryBytes: 0 }

/** @param extra resources of each node beyond its size */
export function describeOwn(manager: Manager, size: Size, version: string, extra?: NodeSize): Manager {
  const nodes = Math.max(1, manager.nodeExtIds?.length ?? 1)
  const resourceConfig = { ...manager.config.resourceConfig, ...resourcesOf(size, nodes, extra) }
  return { ...manager, config: { ...manager.config, size, buildInfo: { version }, resourceConfig } }
}

export async function resourcesBeyondSize(store: Reader): Promise<NodeSize> {
  let { vcpus, memoryBytes } = await controllerResources(store)
  for (const { name, enablementState } of await store.find(Product)) {
    const { isDefault, cpuCount, memorySizeBytes } = products[name as ProductName]
    // A product that is enabled by default is part of the size: disabling it frees its share.
    const sign = Number(enablementState === 'ENABLED') - Number(isDefault)
    vcpus += sign * cpuCount
    memoryBytes += sign * memorySizeBytes
  }
  return { vcpus, memoryBytes }
}

export function newProducts(
  manager: { readonly extId: string; readonly tenantId: string },
  version: string,
  time: string,
  idOf: (name: ProductName) => string,
): Product[] {
  return (Object.keys(products) as ProductName[]).map((name) => {
    const { isDefault, cpuCount, memorySizeBytes } = products[name]
    return {
      extId: idOf(name),
      tenantId: manager.tenantId,
      domainManagerExtId: manager.extId,
      name,
      enablementState: isDefault ? 'ENABLED' : 'DISABLED',
      resourceSpec: { cpuCount, memorySizeBytes },
      version,
      lastModifiedTime: time,
      ...(isDefault ? { serviceEnablementTime: time } : {}),
    }
  })
}
