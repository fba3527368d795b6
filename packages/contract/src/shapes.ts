/** Shared shapes. Source: specification 2.1; catalogue common.json. */
import {
  arrayOf,
  boolean,
  enumeration,
  integer,
  mapOf,
  object,
  oneOf,
  optional,
  text,
  uuid,
  withDefault,
} from './schema.ts'

export { ApiLink, TaskReference } from './operation.ts'

export const uuidPattern = '^[a-fA-F0-9]{8}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{12}$'

const ipv4Pattern =
  '^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$'

export const IPv4Address = object('common.v1.config.IPv4Address', {
  value: text({ pattern: ipv4Pattern }),
  prefixLength: withDefault(integer({ minimum: 0, maximum: 32 }), 32),
})
export const IPv6Address = object('common.v1.config.IPv6Address', {
  value: text({ maxLength: 45, pattern: '^[0-9a-fA-F:.]+$' }),
  prefixLength: withDefault(integer({ minimum: 0, maximum: 128 }), 128),
})
export const FQDN = object('common.v1.config.FQDN', {
  // The catalogue's pattern in a form that takes linear time and bounds every label.
  value: text({
    maxLength: 255,
    pattern: '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$',
  }),
})
export const IPAddress = object('common.v1.config.IPAddress', {
  ipv4: optional(IPv4Address),
  ipv6: optional(IPv6Address),
})
export const IPAddressOrFQDN = object('common.v1.config.IPAddressOrFQDN', {
  ipv4: optional(IPv4Address),
  ipv6: optional(IPv6Address),
  fqdn: optional(FQDN),
})
export const IpRange = object('common.v1.config.IpRange', { begin: optional(IPAddress), end: optional(IPAddress) })
export const BasicAuth = object('common.v1.config.BasicAuth', {
  username: text({ minLength: 3, maxLength: 256 }),
  password: text({ minLength: 3, maxLength: 256, secret: true }),
})
export const EntityReference = object('common.v1.config.EntityReference', {
  extId: optional(uuid()),
  name: optional(text({ maxLength: 256 })),
  uris: optional(arrayOf(text(), { maxItems: 100 })),
  entityType: optional(
    enumeration([
      'CLUSTER',
      'VM',
      'STORAGE_CONTAINER',
      'VOLUME_GROUP',
      'TASK',
      'IMAGE',
      'CATEGORY',
      'NODE',
      'VPC',
      'SUBNET',
      'ROUTING_POLICY',
      'FLOATING_IP',
      'VPN_GATEWAY',
      'VPN_CONNECTION',
      'DIRECT_CONNECT',
      'DIRECT_CONNECT_VIF',
      'VIRTUAL_NIC',
      'VIRTUAL_SWITCH',
      'VM_DISK',
      'VOLUME_DISK',
      'DISK_RECOVERY_POINT',
      'VTEP_GATEWAY',
      'RECOVERY_PLAN',
      'RECOVERY_PLAN_JOB',
      'AVAILABILITY_ZONE',
      'VIRTUAL_NETWORK',
      'CONSISTENCY_GROUP',
      'SUBNET_EXTENSION',
    ]),
  ),
})
export const KVPair = object('common.v1.config.KVPair', {
  name: optional(text()),
  value: optional(
    oneOf(
      text(),
      integer(),
      boolean(),
      arrayOf(text()),
      mapOf(text()),
      arrayOf(object('common.v1.config.MapOfStringWrapper', { map: optional(mapOf(text())) })),
      arrayOf(integer()),
    ),
  ),
})
export const Flag = object('common.v1.config.Flag', { name: text(), value: boolean() })
export const Message = object('common.v1.config.Message', {
  code: optional(text()),
  message: optional(text({ multiline: true })),
  locale: optional(text()),
  severity: optional(enumeration(['INFO', 'WARNING', 'ERROR'])),
})
export const Metadata = object('common.v1.config.Metadata', {
  ownerReferenceId: optional(uuid()),
  ownerUserName: optional(text({ maxLength: 128 })),
  projectReferenceId: optional(uuid()),
  projectName: optional(text({ maxLength: 128 })),
  categoryIds: optional(arrayOf(uuid(), { maxItems: 256 })),
})
