/** Source: catalogue networking.json; behaviour networking.md 1.1. */
import * as s from '../schema.ts'
import { IPv4Address, IPv6Address, Metadata } from '../shapes.ts'

/** Owner defaults to the caller. */
export const EntityMetadata = s.object('common.v1.config.Metadata', {
  ...Metadata.fields,
  categoryIds: s.optional(s.arrayOf(s.referenceTo('Category'), { maxItems: 256 })),
})

/** Attributes in authorization policies of kinds with a name and metadata. */
export const ownAttributes = {
  category_uuid: 'metadata/categoryIds',
  name: 'name',
  owner_uuid: 'metadata/ownerReferenceId',
  project_uuid: 'metadata/projectReferenceId',
} as const

export const nameText = () => s.text({ minLength: 1, maxLength: 128 })
export const descriptionText = () => s.text({ maxLength: 1000, multiline: true })
export const autonomousSystemNumber = () => s.integer({ minimum: 1, maximum: 4294967294 })

export const IPv4Subnet = s.object('networking.v4.config.IPv4Subnet', {
  ip: IPv4Address,
  prefixLength: s.integer({ minimum: 0, maximum: 32 }),
})
export const IPv6Subnet = s.object('networking.v4.config.IPv6Subnet', {
  ip: IPv6Address,
  prefixLength: s.integer({ minimum: 0, maximum: 128 }),
})
/** Exactly one family; host bits are zero. A filter compares the CIDR text. */
export const IPSubnet = s.object(
  'networking.v4.config.IPSubnet',
  { ipv4: s.optional(IPv4Subnet), ipv6: s.optional(IPv6Subnet) },
  { filteredBy: 'cidr' },
)

export const IPv4Pool = s.object('networking.v4.config.IPv4Pool', { startIp: IPv4Address, endIp: IPv4Address })
export const IPv6Pool = s.object('networking.v4.config.IPv6Pool', { startIp: IPv6Address, endIp: IPv6Address })

export const IPConfig = s.object('networking.v4.config.IPConfig', {
  ipv4: s.optionalObject('networking.v4.config.IPv4Config', {
    ipSubnet: IPv4Subnet,
    defaultGatewayIp: s.optional(IPv4Address),
    dhcpServerAddress: s.optional(IPv4Address),
    poolList: s.optional(s.arrayOf(IPv4Pool, { maxItems: 255 })),
  }),
  ipv6: s.optionalObject('networking.v4.config.IPv6Config', {
    ipSubnet: IPv6Subnet,
    defaultGatewayIp: s.optional(IPv6Address),
    dhcpServerAddress: s.optional(IPv6Address),
    poolList: s.optional(s.arrayOf(IPv6Pool, { maxItems: 255 })),
  }),
})

export const State = s.enumeration(['UP', 'DOWN', 'RECOVERY_STARTED', 'RECOVERY_IN_PROGRESS', 'RECOVERY_COMPLETED'])
export const Status = s.object('networking.v4.config.Status', {
  state: s.optional(State),
  message: s.optional(s.text({ multiline: true })),
})

export const BgpCommunity = s.object('networking.v4.config.BgpCommunity', {
  autonomousSystemNumber: s.integer({ minimum: 0, maximum: 65535 }),
  communityValue: s.integer({ minimum: 0, maximum: 65535 }),
})

export const KVStringPair = s.object('common.v1.config.KVStringPair', {
  name: s.optional(s.text()),
  value: s.optional(s.text()),
})

const changeFields = { taskExtId: s.uuid(), verb: s.enumeration(['create', 'update', 'upgrade', 'delete']) } as const
/** The running task of the row; internal. Written with the task, so that concurrent requests cannot both start one. */
export const Change = s.object('', changeFields)
/** With values that the update will store, reserved while its task runs. Fields of the kind's own names are copied from the entity. */
export const changeHolding = <const F extends s.Fields>(held: F) => s.optionalObject('', { ...changeFields, ...held })
