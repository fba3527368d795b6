/** Bridges of hosts, and the interfaces of guests on them. Source: behaviour clustermgmt.md 1.5. */
import type { EntityOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { VirtualNic, virtualNicOperations } from '@hyperplane/contract/clustermgmt/virtual-nic'
import { itemWithId, listOf } from '../../core/standard.ts'
import type { BridgeView } from '../../drivers/host-networking.ts'
import { implement, parentOf, type ReadContext } from '../context.ts'

type Nic = EntityOf<typeof VirtualNic>

/** As Linux reports a TAP device; nothing limits it to that. */
const tapSpeedInKbps = 10_000
const tapMtu = 1500

export const virtualNic = implement(virtualNicOperations, {
  listVirtualNicsByHostId: async (ctx, request) =>
    listOf(virtualNicsOf(ctx, parentOf(ctx, 'hostExtId', Host)), request),
  getVirtualNicById: async (ctx, { path }) =>
    itemWithId(virtualNicsOf(ctx, parentOf(ctx, 'hostExtId', Host)), VirtualNic, path.extId),
})

function virtualNicsOf({ drivers: { networkFabric } }: Pick<ReadContext, 'drivers'>, host: Host): readonly Nic[] {
  const nics = networkFabric.hostNics(host.extId)
  const bridges = networkFabric.bridges(host.extId).map((bridge): Nic & { readonly hostNicsUuids: string[] } => {
    const uplinks = nics.filter(({ name }) => bridge.uplinks.includes(name))
    // The host itself is reached over its first bridge.
    const own = bridge.name === managementBridge ? host.hypervisor?.externalAddress : undefined
    const addresses = [...(own === undefined ? [] : [own]), ...addressOf(bridge)]
    return {
      extId: bridge.extId,
      tenantId: host.tenantId,
      name: bridge.name,
      nodeUuid: host.extId,
      clusterExtId: host.cluster.uuid,
      hostNicsUuids: uplinks.map(({ extId }) => extId),
      macAddress: bridge.macAddress,
      // A bridge without uplinks connects guests of the host only.
      interfaceStatus: uplinks.length === 0 || uplinks.some(({ isUp }) => isUp) ? 'up' : 'down',
      linkSpeedInKbps: bridge.speedMbps * 1000,
      mtuInBytes: bridge.mtu,
      vlanId: bridge.vlan,
      isDhcpEnabled: false,
      ...(addresses.length === 0 ? {} : { ipv4Addresses: addresses }),
    }
  })
  const taps = networkFabric.taps(host.extId).map((tap): Nic => {
    const bridge = bridges.find(({ name }) => name === tap.bridge)
    return {
      extId: tap.extId,
      tenantId: host.tenantId,
      name: tap.name,
      nodeUuid: host.extId,
      clusterExtId: host.cluster.uuid,
      hostNicsUuids: [...(bridge?.hostNicsUuids ?? [])],
      macAddress: tap.macAddress,
      interfaceStatus: tap.isUp ? 'up' : 'down',
      linkSpeedInKbps: tap.isUp ? tapSpeedInKbps : 0,
      mtuInBytes: bridge?.mtuInBytes ?? tapMtu,
      vlanId: tap.vlan,
      isDhcpEnabled: false,
    }
  })
  return [...bridges, ...taps]
}

const managementBridge = 'br0'

function addressOf({ address }: BridgeView) {
  const [value, length] = address?.split('/') ?? []
  return value === undefined ? [] : [{ ipv4: { value, prefixLength: Number(length) } }]
}
