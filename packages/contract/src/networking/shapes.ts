/** Shapes that several kinds of networking share. Source: catalogue networking.json; behaviour networking.md 1.1. */
import { arrayOf, enumeration, type Fields, integer, object, optional, referenceTo, text, uuid } from '../schema.ts'
import { IPv4Address, IPv6Address, Metadata } from '../shapes.ts'

/** Owner, project and categories of an entity; owner defaults to the caller. */
export const EntityMetadata = object('common.v1.config.Metadata', {
  ...Metadata.fields,
  categoryIds: optional(arrayOf(referenceTo('Category'), { maxItems: 256 })),
})

export const nameText = () => text({ minLength: 1, maxLength: 128 })
export const descriptionText = () => text({ maxLength: 1000, multiline: true })
export const autonomousSystemNumber = () => integer({ minimum: 1, maximum: 4294967294 })

export const IPv4Subnet = object('networking.v4.config.IPv4Subnet', {
  ip: IPv4Address,
  prefixLength: integer({ minimum: 0, maximum: 32 }),
})
export const IPv6Subnet = object('networking.v4.config.IPv6Subnet', {
  ip: IPv6Address,
  prefixLength: integer({ minimum: 0, maximum: 128 }),
})
/** Exactly one family; host bits are zero. */
export const IPSubnet = object('networking.v4.config.IPSubnet', {
  ipv4: optional(IPv4Subnet),
  ipv6: optional(IPv6Subnet),
})

/** Operational state. */
export const State = enumeration(['UP', 'DOWN', 'RECOVERY_STARTED', 'RECOVERY_IN_PROGRESS', 'RECOVERY_COMPLETED'])
export const Status = object('networking.v4.config.Status', {
  state: optional(State),
  message: optional(text({ multiline: true })),
})

export const BgpCommunity = object('networking.v4.config.BgpCommunity', {
  autonomousSystemNumber: integer({ minimum: 0, maximum: 65535 }),
  communityValue: integer({ minimum: 0, maximum: 65535 }),
})

export const KVStringPair = object('common.v1.config.KVStringPair', { name: optional(text()), value: optional(text()) })

const changeFields = { taskExtId: uuid(), verb: enumeration(['create', 'update', 'delete']) } as const
/**
 * Internal: the task that is creating, changing or deleting the row. Written together with the task, so that two
 * concurrent requests cannot both start one.
 */
export const Change = object('', changeFields)
/** The same with values that the update will store; they are reserved while the task runs. */
export const changeHolding = <const F extends Fields>(held: F) => object('', { ...changeFields, ...held })
