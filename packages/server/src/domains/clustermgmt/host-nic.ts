/** Physical ports of hosts, as their drivers see them. Source: behaviour clustermgmt.md 1.5. */
import type { EntityOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { HostNic, hostNicOperations } from '@hyperplane/contract/clustermgmt/host-nic'
import { itemWithId, listOf, visibleRows } from '../../core/standard.ts'
import type { HostNicView, SwitchPort } from '../../drivers/host-networking.ts'
import { implement, parentOf, type ReadContext } from '../context.ts'

type Nic = EntityOf<typeof HostNic>

const ringSizeInBytes = 4096
const mtuWithoutBridge = 1500
/** ethernetCsmacd, of the types of interfaces that IANA registers. */
const ethernet = '6'

export const hostNic = implement(hostNicOperations, {
  async listHostNics(ctx, request) {
    const hosts = await visibleRows(ctx, Host)
    return listOf(
      hosts.flatMap((host) => nicsOf(ctx, host)),
      request,
    )
  },
  listHostNicsByHostId: async (ctx, request) => listOf(nicsOf(ctx, parentOf(ctx, 'hostExtId', Host)), request),
  getHostNicById: async (ctx, { path }) =>
    itemWithId(nicsOf(ctx, parentOf(ctx, 'hostExtId', Host)), HostNic, path.extId),
})

function nicsOf({ drivers }: Pick<ReadContext, 'drivers'>, host: Host): readonly Nic[] {
  const bridges = drivers.networkFabric.bridges(host.extId)
  return drivers.networkFabric.hostNics(host.extId).map((nic): Nic => {
    const { model, switchPort, virtualFunctions } = nic
    const bridge = bridges.find(({ uplinks }) => uplinks.includes(nic.name))
    return {
      extId: nic.extId,
      tenantId: host.tenantId,
      name: nic.name,
      nodeUuid: host.extId,
      clusterExtId: host.cluster.uuid,
      macAddress: nic.macAddress,
      interfaceStatus: nic.isUp ? 'up' : 'down',
      linkSpeedInKbps: nic.isUp ? model.speedMbps * 1000 : 0,
      linkCapacityInMbps: model.speedMbps,
      mtuInBytes: bridge?.mtu ?? mtuWithoutBridge,
      hostDescription: model.description,
      isDhcpEnabled: false,
      rxRingSizeInBytes: ringSizeInBytes,
      txRingSizeInBytes: ringSizeInBytes,
      driverVersion: model.driverVersion,
      firmwareVersion: model.firmwareVersion,
      pciModelId: model.pciModelId,
      supportedCapabilities: [...model.capabilities],
      virtualNicExtIds: bridge === undefined ? [] : [bridge.extId],
      discoveryProtocol: switchPort === undefined ? 'None' : 'LLDP',
      ...(switchPort && switchFields(host, nic, switchPort)),
      ...(virtualFunctions && { nicProfileExtId: virtualFunctions.profileExtId }),
      ...(bridge?.virtualSwitchExtId && { virtualSwitchExtId: bridge.virtualSwitchExtId }),
    }
  })
}

function switchFields(host: Host, nic: HostNicView, port: SwitchPort): Partial<Nic> {
  const address = { ipv4: { value: port.managementAddress, prefixLength: 32 } }
  return {
    switchDeviceId: port.switchName,
    switchMacAddress: port.switchMacAddress,
    switchManagementIp: address,
    switchPortId: port.name,
    switchVendorInfo: port.vendor,
    switchVlanId: String(port.vlan),
    attachedSwitchInterfaceList: [
      {
        extId: port.extId,
        attachedHostNicUuids: [nic.extId],
        attachedHostUuid: host.extId,
        index: port.number,
        port: port.number,
        macAddress: port.macAddress,
        mtuInBytes: port.mtu,
        speedInKbps: nic.model.speedMbps * 1000,
        switchInterfaceDescription: `${host.hostName} ${nic.name}`,
        switchInterfaceName: port.name,
        switchInterfaceType: ethernet,
        switchManagementAddress: address,
        switchUuid: port.switchExtId,
      },
    ],
  }
}
