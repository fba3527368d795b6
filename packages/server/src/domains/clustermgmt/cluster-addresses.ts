/** Clusters, hosts, controller VMs and BMCs never share an address. Source: behaviour clustermgmt.md 1.2. */
import type { BodyOf } from '@hyperplane/contract'
import { BmcInfo } from '@hyperplane/contract/clustermgmt/bmc-info'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { ApiError, invalid, refuseAll } from '../../core/api-error.ts'
import type { Reader } from '../../store/store.ts'

const own = ['externalAddress', 'externalDataServiceIp'] as const

type Network = NonNullable<BodyOf<typeof Cluster>['network']>

export const clusterAddressFaults = (given: Network): ApiError[] => [
  ...own
    .filter((name) => given[name] !== undefined && given[name].ipv4 === undefined)
    .map((name) => invalid(`network/${name}/ipv4`, 'is required')),
  ...duplicateAddresses(given),
]

function duplicateAddresses(network: Network): ApiError[] {
  const [first, second] = own.map((name) => network[name]?.ipv4?.value)
  if (first === undefined || first !== second) return []
  const fault = `expected another address than externalAddress, found ${first} in both`
  return [invalid('network/externalDataServiceIp', fault)]
}

/** @throws ApiError 400 if the cluster already uses the address in its other field, 409 if another entity uses it */
export async function requireFreeAddresses(
  store: Reader,
  cluster: Cluster,
  given: BodyOf<typeof Cluster>,
): Promise<void> {
  const requested = own.flatMap((name) => {
    const address = given.network?.[name]?.ipv4?.value
    return address === undefined ? [] : { name, address }
  })
  if (requested.length === 0) return
  const next = { ...cluster.network, ...given.network }
  refuseAll(duplicateAddresses(next))
  const users = await usersOfAddresses(store, { cluster: cluster.extId })
  refuseAll(
    requested.flatMap(({ name, address }) => {
      const user = users.get(address)
      return user === undefined ? [] : addressInUse(`network/${name}`, address, user)
    }),
  )
}

export const addressInUse = (attributePath: string, address: string, user: string): ApiError =>
  new ApiError('CLUSTER_ADDRESS_IN_USE', { attributePath, address, user })

/** Except the requesting entity: a cluster, or the BMC of a host. */
export async function usersOfAddresses(
  store: Reader,
  asking: { readonly cluster?: string; readonly bmc?: string },
): Promise<ReadonlyMap<string, string>> {
  const users = new Map<string, string>()
  const use = (address: { ipv4?: { value: string } } | undefined, user: string): void => {
    if (address?.ipv4 !== undefined) users.set(address.ipv4.value, user)
  }
  for (const other of await store.find(Cluster)) {
    if (other.extId === asking.cluster) continue
    for (const name of own) use(other.network?.[name], `the cluster "${other.name}"`)
  }
  for (const host of await store.find(Host)) {
    use(host.hypervisor?.externalAddress, `the host "${host.hostName}"`)
    use(host.controllerVm?.externalAddress, `the controller VM of host "${host.hostName}"`)
  }
  for (const bmc of await store.find(BmcInfo)) {
    if (bmc.extId !== asking.bmc) use(bmc.ipAddress, `the BMC of host ${bmc.extId}`)
  }
  return users
}
