/** A virtual switch consists of bridges, one on each of its hosts. Source: behaviour networking.md 1.18. */
import type { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import type { Drivers } from '../../drivers/drivers.ts'
import type { BridgeProgram, MulticastProgram } from '../../drivers/host-networking.ts'

export type SwitchRow = VirtualSwitch
type SwitchCluster = SwitchRow['clusters'][number]
export type SwitchHost = SwitchCluster['hosts'][number]

/** Tasks with this lock run one after another: they empty one host of the cluster at most. */
export const lockOfSwitches = (clusterExtId: string): string => `virtual switches of ${clusterExtId}`

export const nicOf = ({ networkFabric }: Pick<Drivers, 'networkFabric'>, hostExtId: string, given: string) =>
  networkFabric.hostNics(hostExtId).find(({ name, extId }) => name === given || extId === given.toLowerCase())

/** The name of a NIC that a body gives by name or by id; undefined: the host has no such NIC. */
export const nicNameOf = (...[drivers, hostExtId, given]: Parameters<typeof nicOf>): string | undefined =>
  nicOf(drivers, hostExtId, given)?.name

export function bridgesOf(drivers: Drivers, { extId, clusters, bondMode, mtu, igmpSpec }: SwitchRow): BridgeProgram[] {
  const { hosts, vlanIdentifier, gatewayIpAddress } = clusters[0] as SwitchCluster
  return hosts.map((host): BridgeProgram => {
    const address = host.ipAddress && `${host.ipAddress.ip.value}/${host.ipAddress.prefixLength}`
    const gateway = gatewayIpAddress?.value
    return {
      hostExtId: host.extId,
      name: host.internalBridgeName as string,
      virtualSwitchExtId: extId,
      ...uplinksOf(drivers, host),
      bondMode,
      mtu: mtu ?? 1500,
      vlan: vlanIdentifier ?? 0,
      ...(address && { address }),
      ...(address && gateway && { gateway }),
      ...(igmpSpec?.isSnoopingEnabled === true && { multicast: multicastOf(igmpSpec) }),
    }
  })
}

function uplinksOf(
  drivers: Drivers,
  { extId, hostNics = [], activeUplink }: SwitchHost,
): Pick<BridgeProgram, 'activeUplink' | 'uplinks'> {
  const nameOf = (given: string): string => nicNameOf(drivers, extId, given) ?? given
  return { uplinks: hostNics.map(nameOf), ...(activeUplink && { activeUplink: nameOf(activeUplink) }) }
}

const multicastOf = ({ snoopingTimeout = 300, querierSpec }: NonNullable<SwitchRow['igmpSpec']>): MulticastProgram => ({
  isSnooping: true,
  timeoutSeconds: snoopingTimeout,
  ...(querierSpec?.isQuerierEnabled === true && { queriedVlans: querierSpec.vlanIdList ?? [] }),
})
