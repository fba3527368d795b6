/** Physical ports of hosts; not stored. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.5, 2. */
import { names } from '../names.ts'
import { get, list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { clusterHostReaders } from './roles.ts'

export const macAddress = () => s.readOnly(s.text({ pattern: '^([0-9A-Fa-f]{2}[:-]){5}([0-9A-Fa-f]{2})$' }))
export const addresses = () => s.readOnly(s.arrayOf(IPAddress, { maxItems: 1024 }))
const text = () => s.readOnly(s.text())
const number = () => s.readOnly(s.integer())
const ids = () => s.readOnly(s.arrayOf(s.uuid(), { maxItems: 1024 }))

/** The physical switch port of the cable's other end. */
const NetworkSwitchInterface = s.object('clustermgmt.v4.config.NetworkSwitchInterface', {
  extId: s.readOnly(s.uuid()),
  attachedHostNicUuids: ids(),
  attachedHostUuid: s.readOnly(s.uuid()),
  index: number(),
  lastChangeTime: s.readOnly(s.timestamp()),
  macAddress: macAddress(),
  mtuInBytes: number(),
  port: number(),
  speedInKbps: number(),
  switchInterfaceDescription: text(),
  switchInterfaceName: s.readOnly(s.text({ maxLength: 64 })),
  switchInterfaceType: text(),
  switchManagementAddress: s.readOnly(IPAddress),
  switchUuid: s.readOnly(s.uuid()),
})

export const HostNic = resource('clustermgmt.v4.config.HostNic', {
  fields: {
    name: s.readOnly(s.text({ maxLength: 64 })),
    nodeUuid: s.readOnly(s.uuid()),
    clusterExtId: s.since('v4.2', s.readOnly(s.uuid())),
    macAddress: macAddress(),
    interfaceStatus: text(),
    /** 0 while the link is down. */
    linkSpeedInKbps: number(),
    linkCapacityInMbps: s.since('v4.2', number()),
    mtuInBytes: number(),
    /** `LLDP` or `None`; the fields of the switch are absent with `None`. */
    discoveryProtocol: text(),
    attachedSwitchInterfaceList: s.readOnly(s.arrayOf(NetworkSwitchInterface, { maxItems: 1024 })),
    switchDeviceId: text(),
    switchMacAddress: macAddress(),
    switchManagementIp: s.readOnly(IPAddress),
    switchPortId: text(),
    switchVendorInfo: text(),
    switchVlanId: text(),
    hostDescription: text(),
    ipv4Addresses: addresses(),
    ipv6Addresses: addresses(),
    isDhcpEnabled: s.readOnly(s.boolean()),
    rxRingSizeInBytes: number(),
    txRingSizeInBytes: number(),
    driverVersion: s.since('v4.2', text()),
    firmwareVersion: s.since('v4.2', text()),
    /** `15b3:1017`: vendor and device. */
    pciModelId: s.since('v4.2', text()),
    supportedCapabilities: s.since('v4.2', s.readOnly(s.arrayOf(s.text()))),
    nicProfileExtId: s.since('v4.2', s.readOnly(s.uuid())),
    virtualSwitchExtId: s.since('v4.2', s.readOnly(s.uuid())),
    virtualNicExtIds: s.since('v4.2', s.readOnly(s.arrayOf(s.uuid()))),
  },
  derived: true,
  parent: { param: 'hostExtId', kind: 'Host', field: 'nodeUuid' },
})

const filter = names(`
  discoveryProtocol, extId, interfaceStatus, isDhcpEnabled, linkSpeedInKbps, macAddress, mtuInBytes, name, nodeUuid,
  rxRingSizeInBytes, switchDeviceId, switchMacAddress, switchPortId, switchVlanId, txRingSizeInBytes
`)
const orderby = ['extId', 'name']
const select = names(`
  clusterExtId, discoveryProtocol, driverVersion, extId, firmwareVersion, hostDescription, interfaceStatus,
  isDhcpEnabled, linkCapacityInMbps, linkSpeedInKbps, macAddress, mtuInBytes, name, nicProfileExtId, nodeUuid,
  pciModelId, rxRingSizeInBytes, switchDeviceId, switchMacAddress, switchPortId, switchVendorInfo, switchVlanId,
  tenantId, txRingSizeInBytes, virtualSwitchExtId
`)

/** Refuses a host of another cluster than that of the path. */
export const nicView = {
  roles: clusterHostReaders,
  rateLimit: perSecond(5, 5, 10, 10),
  pathKinds: { clusterExtId: 'Cluster', hostExtId: 'Host' },
}

const path = '/config/clusters/{clusterExtId}/hosts/{hostExtId}/host-nics'

export const hostNicOperations = {
  listHostNics: list('/config/host-nics', HostNic, {
    roles: nicView.roles,
    rateLimit: nicView.rateLimit,
    versions: ['v4.2'],
    filter: [...filter, 'clusterExtId'],
    orderby: [...orderby, 'clusterExtId'],
    select,
  }),
  listHostNicsByHostId: list(path, HostNic, {
    ...nicView,
    envelope: 'clustermgmt.v4.config.ListHostNicsByHostIdApiResponse',
    filter,
    orderby,
    select,
  }),
  getHostNicById: get(`${path}/{extId}`, HostNic, nicView),
}
