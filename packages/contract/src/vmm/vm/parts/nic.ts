/**
 * Emulated NICs: the older `backingInfo`/`networkInfo` equals `nicBackingInfo`/`nicNetworkInfo`: bodies may use either (the newer wins),
 * answers have both. SR-IOV and offload: the newer pair only. Source: catalogue vmm.json; behaviour vmm.md 1.4, 2, operation-roles.tsv.
 */
import { names } from '../../../names.ts'
import { action, create, get, list, remove, resource, update } from '../../../operation.ts'
import type { RoleName } from '../../../roles.ts'
import * as s from '../../../schema.ts'
import { IPv4Address, IPv6Address } from '../../../shapes.ts'
import {
  HostPcieDeviceReference,
  NetworkFunctionChainReference,
  NicProfileReference,
  SubnetReference,
} from '../../references.ts'
import { vmMutationRate, vmReaders, vmSlowMutationRate, vmWriters } from '../../roles.ts'
import { partOfVm } from './part-of-vm.ts'

/** Unicast; stored in lower case. */
export const macAddress = () => s.text({ pattern: '^(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$' })
const vlan = () => s.integer({ minimum: 0, maximum: 4094 })

export const Ipv4Config = s.object('vmm.v4.ahv.config.Ipv4Config', {
  shouldAssignIp: s.optional(s.boolean()),
  ipAddress: s.optional(IPv4Address),
  secondaryIpAddressList: s.optional(s.arrayOf(IPv4Address, { maxItems: 100 })),
})
export const Ipv4Info = s.object('vmm.v4.ahv.config.Ipv4Info', {
  learnedIpAddresses: s.readOnly(s.arrayOf(IPv4Address, { maxItems: 256 })),
})
export const Ipv6Info = s.object('vmm.v4.ahv.config.Ipv6Info', {
  learnedIpv6Addresses: s.readOnly(s.arrayOf(IPv6Address)),
})

const emulated = {
  isConnected: s.withDefault(s.boolean(), true),
  macAddress: s.optional(macAddress()),
  model: s.withDefault(s.enumeration(['VIRTIO', 'E1000']), 'VIRTIO'),
  numQueues: s.withDefault(s.integer({ minimum: 1 }), 1),
} as const
export const EmulatedNic = s.object('vmm.v4.ahv.config.EmulatedNic', emulated)
export const VirtualEthernetNic = s.object('vmm.v4.ahv.config.VirtualEthernetNic', emulated)
export const SriovNic = s.object('vmm.v4.ahv.config.SriovNic', {
  isConnected: s.withDefault(s.boolean(), true),
  macAddress: s.optional(macAddress()),
  sriovProfileReference: NicProfileReference,
  hostPcieDeviceReference: s.optional(HostPcieDeviceReference),
})
export const DpOffloadNic = s.object('vmm.v4.ahv.config.DpOffloadNic', {
  isConnected: s.withDefault(s.boolean(), true),
  macAddress: s.optional(macAddress()),
  dpOffloadProfileReference: NicProfileReference,
  hostPcieDeviceReference: s.optional(HostPcieDeviceReference),
})

const connection = {
  subnet: s.optional(SubnetReference),
  vlanMode: s.withDefault(s.enumeration(['ACCESS', 'TRUNK']), 'ACCESS'),
  trunkedVlans: s.optional(s.arrayOf(vlan(), { maxItems: 4095, uniqueItems: true })),
  shouldAllowUnknownMacs: s.withDefault(s.boolean(), false),
  ipv4Config: s.optional(Ipv4Config),
  ipv4Info: s.readOnly(Ipv4Info),
} as const
const networkFunction = {
  nicType: s.withDefault(
    s.enumeration(['NORMAL_NIC', 'DIRECT_NIC', 'NETWORK_FUNCTION_NIC', 'SPAN_DESTINATION_NIC']),
    'NORMAL_NIC',
  ),
  networkFunctionChain: s.optional(NetworkFunctionChainReference),
  // Default: INGRESS for function NICs, absent for others.
  networkFunctionNicType: s.optional(s.enumeration(['INGRESS', 'EGRESS', 'TAP'])),
} as const
export const NicNetworkInfo = s.object('vmm.v4.ahv.config.NicNetworkInfo', { ...networkFunction, ...connection })
export const VirtualEthernetNicNetworkInfo = s.object('vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo', {
  ...networkFunction,
  ...connection,
  ipv6Info: s.readOnly(Ipv6Info),
})
export const SriovNicNetworkInfo = s.object('vmm.v4.ahv.config.SriovNicNetworkInfo', { vlanId: s.optional(vlan()) })
export const DpOffloadNicNetworkInfo = s.object('vmm.v4.ahv.config.DpOffloadNicNetworkInfo', {
  ...connection,
  ipv6Info: s.readOnly(Ipv6Info),
})

export const Nic = resource('vmm.v4.ahv.config.Nic', {
  fields: {
    backingInfo: s.optional(EmulatedNic),
    networkInfo: s.optional(NicNetworkInfo),
    nicBackingInfo: s.optional(s.oneOf(VirtualEthernetNic, SriovNic, DpOffloadNic)),
    nicNetworkInfo: s.optional(s.oneOf(SriovNicNetworkInfo, VirtualEthernetNicNetworkInfo, DpOffloadNicNetworkInfo)),
  },
  iamNoun: 'Virtual_Machine_NIC',
  rel: 'vmm:ahv:config:vm:nic',
  ...partOfVm('nics'),
})

export const AssignIpParams = s.object('vmm.v4.ahv.config.AssignIpParams', {
  /** Default: the lowest free address of the pools. */
  ipAddress: s.optional(IPv4Address),
})
export const MigrateNicConfig = s.object('vmm.v4.ahv.config.MigrateNicConfig', {
  subnet: SubnetReference,
  migrateType: s.enumeration(['ASSIGN_IP', 'RELEASE_IP']),
  /** With ASSIGN_IP only. Default: the lowest free address of the pools. */
  ipAddress: s.optional(IPv4Address),
})

const readers: readonly RoleName[] = [
  ...vmReaders,
  ...names('Backup Admin, Management Connector, Network Policy Admin, Network Policy Author, Network Policy Viewer'),
]

const view = { roles: readers } as const
const mutation = { rateLimit: vmMutationRate, ifMatch: 'required', requestId: 'required' } as const
const change = { ...mutation, roles: [...vmWriters, ...names('Backup Admin, Management Connector')] } as const
const addressing = { ...mutation, of: Nic, roles: [...vmWriters, ...names('Backup Admin')] } as const

const nics = '/ahv/config/vms/{vmExtId}/nics'

export const nicOperations = {
  listNicsByVmId: list(nics, Nic, {
    ...view,
    filter: ['extId', 'networkInfo/subnet/extId', 'nicNetworkInfo/subnet/extId'],
  }),
  createNic: create(nics, Nic, change),
  getNicById: get(`${nics}/{extId}`, Nic, view),
  updateNicById: update(`${nics}/{extId}`, Nic, change),
  deleteNicById: remove(`${nics}/{extId}`, Nic, change),
  assignIpById: action(`${nics}/{extId}/$actions/assign-ip`, {
    iam: 'Assign_Virtual_Machine_NIC_IP',
    ...addressing,
    body: AssignIpParams,
  }),
  releaseIpById: action(`${nics}/{extId}/$actions/release-ip`, {
    iam: 'Release_Virtual_Machine_NIC_IP',
    ...addressing,
  }),
  migrateNicById: action(`${nics}/{extId}/$actions/migrate`, {
    ...addressing,
    roles: [...vmWriters, ...names('Network Infra Admin')],
    rateLimit: vmSlowMutationRate,
    body: MigrateNicConfig,
  }),
}
