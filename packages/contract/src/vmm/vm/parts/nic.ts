/**
 * A network interface of a virtual machine. An emulated NIC has two equivalent pairs of fields, the older
 * `backingInfo`/`networkInfo` and the newer `nicBackingInfo`/`nicNetworkInfo`: bodies may use either (the newer wins),
 * answers have both. NICs with SR-IOV or offload have the newer pair only.
 * Source: catalogue vmm.json; behaviour vmm.md 1.4, 2, operation-roles.tsv.
 */
import { get, list, resource } from '../../../operation.ts'
import type { RoleName } from '../../../roles.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  integer,
  object,
  oneOf,
  optional,
  readOnly,
  text,
  uuid,
  withDefault,
} from '../../../schema.ts'
import { IPv4Address, IPv6Address } from '../../../shapes.ts'
import {
  HostPcieDeviceReference,
  NetworkFunctionChainReference,
  NicProfileReference,
  SubnetReference,
} from '../../references.ts'
import { getRate, listRate, vmReaders } from '../../roles.ts'

/** A unicast address; stored in lower case. */
export const macAddress = () => text({ pattern: '^(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$' })
const vlan = () => integer({ minimum: 0, maximum: 4094 })

export const Ipv4Config = object('vmm.v4.ahv.config.Ipv4Config', {
  shouldAssignIp: optional(boolean()),
  ipAddress: optional(IPv4Address),
  secondaryIpAddressList: optional(arrayOf(IPv4Address, { maxItems: 100 })),
})
export const Ipv4Info = object('vmm.v4.ahv.config.Ipv4Info', {
  learnedIpAddresses: readOnly(arrayOf(IPv4Address, { maxItems: 256 })),
})
export const Ipv6Info = object('vmm.v4.ahv.config.Ipv6Info', {
  learnedIpv6Addresses: readOnly(arrayOf(IPv6Address)),
})

const emulated = {
  isConnected: withDefault(boolean(), true),
  macAddress: optional(macAddress()),
  model: withDefault(enumeration(['VIRTIO', 'E1000']), 'VIRTIO'),
  numQueues: withDefault(integer({ minimum: 1 }), 1),
} as const
export const EmulatedNic = object('vmm.v4.ahv.config.EmulatedNic', emulated)
export const VirtualEthernetNic = object('vmm.v4.ahv.config.VirtualEthernetNic', emulated)
export const SriovNic = object('vmm.v4.ahv.config.SriovNic', {
  isConnected: withDefault(boolean(), true),
  macAddress: optional(macAddress()),
  sriovProfileReference: NicProfileReference,
  hostPcieDeviceReference: optional(HostPcieDeviceReference),
})
export const DpOffloadNic = object('vmm.v4.ahv.config.DpOffloadNic', {
  isConnected: withDefault(boolean(), true),
  macAddress: optional(macAddress()),
  dpOffloadProfileReference: NicProfileReference,
  hostPcieDeviceReference: optional(HostPcieDeviceReference),
})

const connection = {
  subnet: optional(SubnetReference),
  vlanMode: withDefault(enumeration(['ACCESS', 'TRUNK']), 'ACCESS'),
  trunkedVlans: optional(arrayOf(vlan(), { maxItems: 4095, uniqueItems: true })),
  shouldAllowUnknownMacs: withDefault(boolean(), false),
  /** Present while the NIC holds an address. */
  ipv4Config: optional(Ipv4Config),
  ipv4Info: readOnly(Ipv4Info),
} as const
const networkFunction = {
  nicType: withDefault(
    enumeration(['NORMAL_NIC', 'DIRECT_NIC', 'NETWORK_FUNCTION_NIC', 'SPAN_DESTINATION_NIC']),
    'NORMAL_NIC',
  ),
  networkFunctionChain: optional(NetworkFunctionChainReference),
  // Defaults to INGRESS for function NICs, and is absent for the others.
  networkFunctionNicType: optional(enumeration(['INGRESS', 'EGRESS', 'TAP'])),
} as const
export const NicNetworkInfo = object('vmm.v4.ahv.config.NicNetworkInfo', { ...networkFunction, ...connection })
export const VirtualEthernetNicNetworkInfo = object('vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo', {
  ...networkFunction,
  ...connection,
  ipv6Info: readOnly(Ipv6Info),
})
export const SriovNicNetworkInfo = object('vmm.v4.ahv.config.SriovNicNetworkInfo', { vlanId: optional(vlan()) })
export const DpOffloadNicNetworkInfo = object('vmm.v4.ahv.config.DpOffloadNicNetworkInfo', {
  ...connection,
  ipv6Info: readOnly(Ipv6Info),
})

export const Nic = resource(
  'vmm.v4.ahv.config.Nic',
  {
    backingInfo: optional(EmulatedNic),
    networkInfo: optional(NicNetworkInfo),
    nicBackingInfo: optional(oneOf(VirtualEthernetNic, SriovNic, DpOffloadNic)),
    nicNetworkInfo: optional(oneOf(SriovNicNetworkInfo, VirtualEthernetNicNetworkInfo, DpOffloadNicNetworkInfo)),
  },
  {
    title: 'NIC',
    // Read from the list in its VM.
    derived: true,
    internal: { vmExtId: uuid() },
    parent: { param: 'vmExtId', kind: 'Vm', field: 'vmExtId' },
    rel: 'vmm:ahv:config:vm:nic',
    notFound: 'VMM_ENTITY_NOT_FOUND',
    staleTag: 'VM_ETAG_MISMATCH',
    sharesTagOf: 'vmExtId',
  },
)

const readers: readonly RoleName[] = [
  ...vmReaders,
  'Backup Admin',
  'Management Connector',
  'Network Policy Admin',
  'Network Policy Author',
  'Network Policy Viewer',
]

export const nicOperations = {
  listNicsByVmId: list('/ahv/config/vms/{vmExtId}/nics', Nic, {
    iam: 'View_Virtual_Machine_NIC',
    roles: readers,
    rateLimit: listRate,
    filter: ['extId', 'networkInfo/subnet/extId', 'nicNetworkInfo/subnet/extId'],
  }),
  getNicById: get('/ahv/config/vms/{vmExtId}/nics/{extId}', Nic, {
    iam: 'View_Virtual_Machine_NIC',
    roles: readers,
    rateLimit: getRate,
  }),
}
