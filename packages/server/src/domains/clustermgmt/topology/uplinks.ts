/** Uplinks of a node in the virtual switches of a cluster. Source: behaviour clustermgmt.md 1.3 (validateNode). */
import type { ValueOf } from '@hyperplane/contract'
import type { UplinkNetworkItem } from '@hyperplane/contract/clustermgmt/node'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { HostNicView } from '../../../drivers/host-networking.ts'
import type { Reader } from '../../../store/store.ts'

export type GivenNetwork = ValueOf<typeof UplinkNetworkItem>

interface UplinkContext {
  readonly store: Reader
  readonly drivers: Drivers
}

export interface SwitchNetworks {
  readonly row: VirtualSwitch
  readonly bridge: string
  readonly networks: readonly string[]
}

export interface NodeUplinks {
  readonly switchExtId: string
  readonly hostNics: readonly string[]
  readonly activeUplink?: string
}

/** In the order of their creation: the default one first. */
export async function switchesOf({ store }: UplinkContext, clusterExtId: string): Promise<readonly SwitchNetworks[]> {
  const rows = await store.findWhere(VirtualSwitch, { clusterExtId })
  const found: SwitchNetworks[] = []
  for (const row of rows) {
    const subnets = await store.find(Subnet, { refersTo: { kind: VirtualSwitch.kind, extId: row.extId } })
    const bridge = row.clusters[0]?.hosts[0]?.internalBridgeName ?? row.name
    found.push({ row, bridge, networks: subnets.map(({ name }) => name) })
  }
  return found
}

export interface PlannedUplinks {
  readonly uplinks: readonly NodeUplinks[]
  readonly faults: readonly string[]
}

/** The node joins the default switch, and those that the request names. */
export function planUplinks(
  { drivers }: UplinkContext,
  switches: readonly SwitchNetworks[],
  nodeUuid: string,
  given: readonly GivenNetwork[],
  path: string,
): PlannedUplinks {
  const nics = drivers.networkFabric.hostNics(nodeUuid)
  const faults: string[] = []
  const uplinks: NodeUplinks[] = []
  for (const [index, network] of given.entries()) {
    const at = `${path}[${index}]`
    const found = switchNamed(switches, network)
    if (found === undefined) {
      faults.push(`${at}: expected ${switches.map(namesOf).join(' or ') || 'none'}; found ${nameOf(network)}`)
      continue
    }
    const missing = (network.networks ?? []).filter((name) => !found.networks.includes(name))
    if (missing.length > 0)
      faults.push(`${at}/networks: the virtual switch ${found.row.name} has no network ${missing.join(', ')}`)
    const { names, faults: own } = namedNics(nics, network, at)
    faults.push(...own)
    uplinks.push({
      switchExtId: found.row.extId,
      hostNics: names,
      ...(found.row.bondMode === 'ACTIVE_BACKUP' && names[0] !== undefined && { activeUplink: names[0] }),
    })
  }
  faults.push(...repeatedUplinks(uplinks, path))
  const main = switches.find(({ row }) => row.isDefault === true)
  if (main === undefined || uplinks.some(({ switchExtId }) => switchExtId === main.row.extId))
    return { uplinks, faults }
  const added = defaultUplinks(main, nics, uplinks)
  if (added.hostNics.length === 0)
    faults.push(`${path}: the node has no free NIC with a link for the virtual switch ${main.row.name}`)
  return { uplinks: [added, ...uplinks], faults }
}

/** NICs with the names that the first host of the switch uses. */
function defaultUplinks(
  { row }: SwitchNetworks,
  nics: readonly HostNicView[],
  taken: readonly NodeUplinks[],
): NodeUplinks {
  const [host] = row.clusters[0]?.hosts ?? []
  const used = new Set(taken.flatMap(({ hostNics }) => hostNics))
  const hostNics = (host?.hostNics ?? []).filter((name) =>
    nics.some((nic) => nic.name === name && nic.isUp && !used.has(name)),
  )
  const activeUplink = hostNics.includes(host?.activeUplink ?? '') ? host?.activeUplink : hostNics[0]
  return {
    switchExtId: row.extId,
    hostNics,
    ...(row.bondMode === 'ACTIVE_BACKUP' && activeUplink !== undefined && { activeUplink }),
  }
}

const switchNamed = (switches: readonly SwitchNetworks[], { name, vswitchExtId }: GivenNetwork) =>
  switches.find(
    ({ row, bridge }) =>
      (vswitchExtId !== undefined || name !== undefined) &&
      (vswitchExtId === undefined || row.extId === vswitchExtId) &&
      (name === undefined || name === bridge || name === row.name),
  )

const namesOf = ({ row, bridge }: SwitchNetworks): string => `${bridge} (${row.name})`
const nameOf = ({ name, vswitchExtId }: GivenNetwork): string => name ?? vswitchExtId ?? 'neither name nor vswitchExtId'

function namedNics(
  nics: readonly HostNicView[],
  { uplinks: { active = [], standby = [] } = {} }: GivenNetwork,
  path: string,
): { readonly names: readonly string[]; readonly faults: readonly string[] } {
  const names: string[] = []
  const faults: string[] = []
  const all = [
    ...active.map((given) => ({ given, list: 'active' })),
    ...standby.map((given) => ({ given, list: 'standby' })),
  ]
  if (all.length === 0) faults.push(`${path}/uplinks: expected one uplink or more`)
  for (const { given, list } of all) {
    const wanted = given.mac ?? given.name ?? given.value ?? ''
    const nic = nics.find(
      ({ name, macAddress }) =>
        (given.mac === undefined || given.mac.toLowerCase().replaceAll('-', ':') === macAddress) &&
        (given.name === undefined || given.name === name) &&
        (given.mac !== undefined || given.name !== undefined || given.value === name),
    )
    if (nic === undefined) faults.push(`${path}/uplinks/${list}: the node has no NIC ${wanted}`)
    else if (!nic.isUp) faults.push(`${path}/uplinks/${list}: the NIC ${nic.name} has no link`)
    else names.push(nic.name)
  }
  return { names, faults }
}

function repeatedUplinks(uplinks: readonly NodeUplinks[], path: string): string[] {
  const names = uplinks.flatMap(({ hostNics }) => hostNics)
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) < index))
  return [...repeated].map((name) => `${path}: the NIC ${name} is an uplink twice`)
}
