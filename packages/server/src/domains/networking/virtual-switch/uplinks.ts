/** NICs of hosts in virtual switches: each is in one at most. Source: behaviour networking.md 1.18, 3.5. */
import { NicProfile } from '@hyperplane/contract/networking/nic-profile'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { ApiError } from '../../../core/api-error.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { WriteContext } from '../../context.ts'
import { nicNameOf, nicOf } from '../../scheduling/switch-bridges.ts'
import { nameFor } from '../in-use.ts'
import { invalidField } from '../ip-config.ts'
import type { SwitchCluster, SwitchEntity, SwitchHost } from './rules.ts'

interface NamedUplink {
  readonly key: string
  readonly hostExtId: string
  readonly nicExtId: string
  readonly name: string
  readonly path: string
}

export function uplinksOf({ drivers }: Pick<WriteContext, 'drivers'>, { hosts }: SwitchCluster): NamedUplink[] {
  return hosts.flatMap(({ extId: hostExtId, hostNics = [] }, index) =>
    hostNics.flatMap((given, place) => {
      const nic = nicOf(drivers, hostExtId, given)
      const path = `clusters[0]/hosts[${index}]/hostNics[${place}]`
      if (nic === undefined) return []
      return [{ key: `${hostExtId}/${nic.name}`, hostExtId, nicExtId: nic.extId, name: nic.name, path }]
    }),
  )
}

/** `<host>/eth0`. While an update runs, the switch holds its uplinks of before and of after. */
export const uplinkKeysOf = (drivers: Drivers, { clusters, change }: SwitchEntity): readonly string[] => [
  ...uplinksOf({ drivers }, clusters[0] as SwitchCluster).map(({ key }) => key),
  ...(change?.uplinks ?? []),
]

/** Unknown NICs, and an active uplink that is none of the uplinks. */
export function uplinkFaults({ drivers }: Pick<WriteContext, 'drivers'>, { hosts }: SwitchCluster): ApiError[] {
  return hosts.flatMap((host, index) => {
    const path = `clusters[0]/hosts[${index}]`
    const nics = drivers.networkFabric.hostNics(host.extId).map(({ name }) => name)
    const named = (host.hostNics ?? []).map((given) => nicNameOf(drivers, host.extId, given))
    const unknown = named.flatMap((name, place) =>
      name === undefined
        ? [invalidField(`${path}/hostNics[${place}]`, `expected a NIC of the host: ${nics.join(', ')}, or its id`)]
        : [],
    )
    const duplicates = named.flatMap((name, place) =>
      name !== undefined && named.indexOf(name) < place
        ? [invalidField(`${path}/hostNics[${place}]`, `names ${name} again`)]
        : [],
    )
    return [...unknown, ...duplicates, ...activeFaults(drivers, host, named, path)]
  })
}

function activeFaults(
  drivers: Drivers,
  { extId, activeUplink }: SwitchHost,
  named: readonly (string | undefined)[],
  path: string,
): ApiError[] {
  if (activeUplink === undefined) return []
  const name = nicNameOf(drivers, extId, activeUplink)
  return name !== undefined && named.includes(name)
    ? []
    : [invalidField(`${path}/activeUplink`, 'expected one of hostNics')]
}

/** @throws ApiError 409 that names the first NIC which something else has */
export async function refuseTaken(
  ctx: WriteContext,
  { extId, clusterExtId }: Pick<SwitchEntity, 'clusterExtId' | 'extId'>,
  uplinks: readonly NamedUplink[],
): Promise<void> {
  const { store, drivers } = ctx
  const holders = new Map<string, string>()
  for (const other of await store.findWhere(VirtualSwitch, { clusterExtId: clusterExtId! })) {
    if (other.extId === extId) continue
    // An update that runs holds its uplinks of before and of after.
    const own = uplinksOf({ drivers }, other.clusters[0] as SwitchCluster).map(({ key }) => key)
    const shown = await nameFor(ctx, VirtualSwitch, other)
    for (const key of [...own, ...(other.change?.uplinks ?? [])]) holders.set(key, shown)
  }
  // The task that associates a NIC has not yet divided it.
  for (const profile of await store.find(NicProfile)) {
    const nic = uplinks.find((each) => each.nicExtId === profile.change?.hostNicExtId)
    if (nic !== undefined) holders.set(nic.key, await nameFor(ctx, NicProfile, profile))
  }
  for (const { key, hostExtId, name, path } of uplinks) {
    const holder = holders.get(key) ?? otherUser(drivers, extId, hostExtId, name)
    if (holder !== undefined)
      throw new ApiError('HOST_NIC_IN_USE', { nic: name, holder }, { extra: { attributePath: path } })
  }
}

function otherUser(
  { networkFabric }: Drivers,
  switchExtId: string,
  hostExtId: string,
  name: string,
): string | undefined {
  const bridge = networkFabric.bridges(hostExtId).find(({ uplinks }) => uplinks.includes(name))
  if (bridge !== undefined && bridge.virtualSwitchExtId !== switchExtId) return `bridge ${bridge.name}`
  const nic = networkFabric.hostNics(hostExtId).find((each) => each.name === name)
  return nic?.virtualFunctions === undefined ? undefined : `NIC profile ${nic.virtualFunctions.profileExtId}`
}

/** The lowest `br<n>` that no host of the cluster has. */
export async function freeBridgeName(
  { store, drivers }: WriteContext,
  clusterExtId: string,
  hostExtIds: readonly string[],
): Promise<string> {
  const switches = await store.findWhere(VirtualSwitch, { clusterExtId })
  const taken = new Set([
    ...switches.map(bridgeNameOf),
    ...hostExtIds.flatMap((host) => drivers.networkFabric.bridges(host).map(({ name }) => name)),
  ])
  let number = 0
  while (taken.has(`br${number}`)) number++
  return `br${number}`
}

export const bridgeNameOf = ({ clusters }: Pick<SwitchEntity, 'clusters'>): string | undefined =>
  clusters[0]?.hosts[0]?.internalBridgeName
