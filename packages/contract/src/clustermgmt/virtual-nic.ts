/** Network interfaces that a host's hypervisor makes; not stored. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.5, 2. */
import { names } from '../names.ts'
import { get, list, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { addresses, macAddress, nicView } from './host-nic.ts'

const number = () => s.readOnly(s.integer())

export const VirtualNic = resource('clustermgmt.v4.config.VirtualNic', {
  fields: {
    name: s.readOnly(s.text({ maxLength: 64 })),
    nodeUuid: s.readOnly(s.uuid()),
    /** NICs of the host through which its packets leave. */
    hostNicsUuids: s.readOnly(s.arrayOf(s.uuid(), { maxItems: 1024 })),
    macAddress: macAddress(),
    interfaceStatus: s.readOnly(s.text()),
    linkSpeedInKbps: number(),
    mtuInBytes: number(),
    vlanId: number(),
    hostDescription: s.readOnly(s.text()),
    ipv4Addresses: addresses(),
    ipv6Addresses: addresses(),
    isDhcpEnabled: s.readOnly(s.boolean()),
  },
  iamNoun: 'Host_Virtual_NIC',
  derived: true,
  internal: { clusterExtId: s.uuid() },
  parent: { param: 'hostExtId', kind: 'Host', field: 'nodeUuid' },
})

const path = '/config/clusters/{clusterExtId}/hosts/{hostExtId}/virtual-nics'

export const virtualNicOperations = {
  listVirtualNicsByHostId: list(path, VirtualNic, {
    ...nicView,
    envelope: 'clustermgmt.v4.config.ListVirtualNicsByHostIdApiResponse',
    filter: names(`
      extId, interfaceStatus, isDhcpEnabled, linkSpeedInKbps, macAddress, mtuInBytes, name, nodeUuid, vlanId
    `),
    orderby: ['extId', 'name'],
    select: names(`
      extId, hostDescription, interfaceStatus, isDhcpEnabled, linkSpeedInKbps, macAddress, mtuInBytes, name, nodeUuid,
      tenantId, vlanId
    `),
  }),
  getVirtualNicById: get(`${path}/{extId}`, VirtualNic, nicView),
}
