/** Kinds of networking that a cluster can carry. Source: behaviour networking.md 1.1 (CAPABILITY_NOT_SUPPORTED), 1.20. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { ApiError } from '../../core/api-error.ts'
import type { Reader } from '../../store/store.ts'
import { requireController } from './network-controllers.ts'

/** The release of the native hypervisor that brought each of them. */
const broughtBy = {
  SUPPORTS_PC_SPAN: '7.0',
  SUPPORTS_VLAN_ADVANCED: '10.0',
  SUPPORTS_OVERLAY: '10.0',
  SUPPORTS_NETWORK_FUNCTION: '10.0',
  SUPPORTS_SRIOV: '10.3',
  SUPPORTS_IPV6: '10.0',
} as const

export type Capability = keyof typeof broughtBy

export interface Capable {
  readonly capabilityName: Capability
  readonly isSupported: boolean
}

/** A cluster supports what all its hosts do; only the native hypervisor supports any. */
export async function capabilitiesOf(store: Reader, { extId, config }: Cluster): Promise<Capable[]> {
  const isNative = config?.hypervisorTypes?.includes('AHV') === true
  const hosts = isNative ? await store.findWhere(Host, { 'cluster/uuid': extId }) : []
  return Object.entries(broughtBy).map(([name, release]) => ({
    capabilityName: name as Capability,
    isSupported: hosts.length > 0 && hosts.every(({ hypervisor }) => isAtLeast(release, hypervisor?.fullName)),
  }))
}

export async function supports(
  store: Reader,
  clusterExtId: string | undefined,
  capability: Capability,
): Promise<boolean> {
  const cluster = clusterExtId === undefined ? undefined : await store.get(Cluster, clusterExtId)
  const found = cluster === undefined ? [] : await capabilitiesOf(store, cluster)
  return found.some(({ capabilityName, isSupported }) => capabilityName === capability && isSupported)
}

/** @throws ApiError 409 when the cluster cannot */
export async function requireSupport(
  store: Reader,
  clusterExtId: string | undefined,
  capability: Capability,
): Promise<void> {
  if (!(await supports(store, clusterExtId, capability))) throw new ApiError('CAPABILITY_NOT_SUPPORTED', { capability })
}

/** @throws ApiError 409 without a network controller, or when the cluster cannot */
export async function requireCapability(
  store: Reader,
  clusterExtId: string | undefined,
  capability: Capability,
): Promise<void> {
  await requireController(store, capability)
  await requireSupport(store, clusterExtId, capability)
}

/** @param fullName `Native hypervisor 10.3` */
const isAtLeast = (release: string, fullName = ''): boolean =>
  (/\d+(?:\.\d+)*/.exec(fullName)?.[0] ?? '0').localeCompare(release, 'en', { numeric: true }) >= 0
