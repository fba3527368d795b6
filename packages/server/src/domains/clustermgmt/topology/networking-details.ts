/** Source: behaviour clustermgmt.md 1.3 (fetchNodeNetworkingDetails). */
import type { ValueOf } from '@hyperplane/contract'
import type { NodeNetworkingDetails } from '@hyperplane/contract/clustermgmt/task-response'
import type { NodeDetails } from '@hyperplane/contract/clustermgmt/unconfigured-node'
import type { HostNicView } from '../../../drivers/host-networking.ts'
import type { NodeView } from '../../../drivers/nodes.ts'
import { DriverError, defineTask } from '../../context.ts'
import { ipv4 } from './host-row.ts'
import { addressDisagreements, disagreements, nameOfNode, nodeNamed, refuseWith } from './nodes.ts'
import { keepResult } from './task-results.ts'
import { type SwitchNetworks, switchesOf } from './uplinks.ts'

type Params = ValueOf<typeof NodeDetails>
type Details = ValueOf<typeof NodeNetworkingDetails>

export const fetchNetworking = defineTask<Params & { readonly clusterExtId: string }>({
  name: 'clustermgmt.fetch-node-networking-details',
  steps: [
    {
      name: 'fetch networking',
      seconds: [5, 12],
      run: async (ctx, { clusterExtId, nodeList, requestType }): Promise<Details> => {
        const { hardware, networkFabric } = ctx.drivers
        const discovered = hardware.unconfiguredNodes(Number.POSITIVE_INFINITY)
        const nodes = nodeList.map((given) => nodeNamed(discovered, given))
        const silent = nodeList.filter((_, index) => nodes[index] === undefined).map(nameOfNode)
        if (silent.length > 0) throw DriverError.final(`these nodes do not answer: ${silent.join(', ')}`)
        refuseWith(
          nodeList.flatMap((given, index) => {
            const node = nodes[index] as NodeView
            const path = `nodeList[${index}]`
            return [...disagreements(node, given, path), ...addressDisagreements(node, given, path)]
          }),
        )
        const switches = await switchesOf(ctx, clusterExtId)
        const found = (nodes as NodeView[]).map((node) => ({ node, nics: networkFabric.hostNics(node.nodeUuid) }))
        return {
          networkInfo: { hci: requestType === 'npe' ? [] : switches.map(shownSwitch), so: [] },
          uplinks: found.map(({ node, nics }) => ({ cvmIp: ipv4(node.addresses.cvm), uplinkList: nics.map(shownNic) })),
          warnings: found.flatMap(({ node, nics }) => warningsOf(node, nics, switches)),
        }
      },
      record: (ctx, _, details: Details) => keepResult(ctx, 'NETWORKING_DETAILS', details),
    },
  ],
})

const bondingModes = {
  NONE: 'NO_BOND',
  ACTIVE_BACKUP: 'ACTIVE_BACKUP',
  BALANCE_TCP: 'ACTIVE_ACTIVE',
  BALANCE_SLB: 'ACTIVE_ACTIVE_WITH_MAC_PINNING',
} as const

const shownSwitch = ({ row, bridge, networks }: SwitchNetworks) => ({
  name: bridge,
  bondingMode: bondingModes[row.bondMode],
  hypervisorType: 'AHV' as const,
  networks: [...networks],
  vswitchExtId: row.extId,
  vswitchName: row.name,
  vswitchOwnerType: row.ownerType === 'PE' ? ('PRISM_ELEMENT' as const) : ('PRISM_CENTRAL' as const),
})

const shownNic = ({ name, macAddress, isUp, model, switchPort }: HostNicView) => ({
  name,
  mac: macAddress,
  hostNicLabel: model.description,
  interfaceSpeedKbps: isUp ? model.speedMbps * 1000 : 0,
  status: isUp ? ('UP' as const) : ('DOWN' as const),
  ...(switchPort && {
    lldpConfig: {
      switchName: switchPort.switchName,
      switchMacAddress: switchPort.switchMacAddress,
      switchManagementAddress: ipv4(switchPort.managementAddress),
      switchHardwarePlatformDescription: switchPort.vendor,
      switchPortName: switchPort.name,
      switchPortDescription: switchPort.name,
      switchPortNativeVlanId: switchPort.vlan,
    },
  }),
})

function warningsOf(
  { serialNumber }: NodeView,
  nics: readonly HostNicView[],
  switches: readonly SwitchNetworks[],
): string[] {
  const warnings = nics.filter(({ isUp }) => !isUp).map(({ name }) => `${serialNumber}: the uplink ${name} is down`)
  const speeds = new Set(nics.filter(({ isUp }) => isUp).map(({ model }) => model.speedMbps))
  if (speeds.size > 1)
    warnings.push(
      `${serialNumber}: the NICs have different speeds: ${[...speeds].sort((a, b) => a - b).join(', ')} Mb/s`,
    )
  for (const { row, bridge } of switches) {
    const mtu = row.mtu ?? 1500
    for (const { name, switchPort } of nics)
      if (switchPort !== undefined && switchPort.mtu < mtu)
        warnings.push(`${serialNumber}: ${bridge} has MTU ${mtu}, the port of ${name} ${switchPort.mtu}`)
  }
  return warnings
}
