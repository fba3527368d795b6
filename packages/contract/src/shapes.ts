/** Source: specification 2.1; catalogue common.json. */
import * as s from './schema.ts'

export { ApiLink, TaskReference } from './operation.ts'

export const uuidPattern = '^[a-fA-F0-9]{8}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{12}$'

const ipv4Pattern =
  '^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$'

export const IPv4Address = s.object('common.v1.config.IPv4Address', {
  value: s.text({ pattern: ipv4Pattern }),
  prefixLength: s.withDefault(s.integer({ minimum: 0, maximum: 32 }), 32),
})
export const IPv6Address = s.object('common.v1.config.IPv6Address', {
  value: s.text({ maxLength: 45, pattern: '^[0-9a-fA-F:.]+$' }),
  prefixLength: s.withDefault(s.integer({ minimum: 0, maximum: 128 }), 128),
})
export const FQDN = s.object('common.v1.config.FQDN', {
  // The catalogue's pattern in a form that takes linear time and bounds every label.
  value: s.text({
    maxLength: 255,
    pattern: '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$',
  }),
})
export const IPAddress = s.object('common.v1.config.IPAddress', {
  ipv4: s.optional(IPv4Address),
  ipv6: s.optional(IPv6Address),
})
export const IPAddressOrFQDN = s.object('common.v1.config.IPAddressOrFQDN', {
  ipv4: s.optional(IPv4Address),
  ipv6: s.optional(IPv6Address),
  fqdn: s.optional(FQDN),
})
export const IpRange = s.object('common.v1.config.IpRange', {
  begin: s.optional(IPAddress),
  end: s.optional(IPAddress),
})
export const BasicAuth = s.object('common.v1.config.BasicAuth', {
  username: s.text({ minLength: 3, maxLength: 256 }),
  password: s.text({ minLength: 3, maxLength: 256, secret: true }),
})
export const EntityReference = s.object('common.v1.config.EntityReference', {
  extId: s.optional(s.uuid()),
  name: s.optional(s.text({ maxLength: 256 })),
  uris: s.optional(s.arrayOf(s.text(), { maxItems: 100 })),
  entityType: s.optional(
    s.enumeration(`
      CLUSTER, VM, STORAGE_CONTAINER, VOLUME_GROUP, TASK, IMAGE, CATEGORY, NODE, VPC, SUBNET, ROUTING_POLICY,
      FLOATING_IP, VPN_GATEWAY, VPN_CONNECTION, DIRECT_CONNECT, DIRECT_CONNECT_VIF, VIRTUAL_NIC, VIRTUAL_SWITCH,
      VM_DISK, VOLUME_DISK, DISK_RECOVERY_POINT, VTEP_GATEWAY, RECOVERY_PLAN, RECOVERY_PLAN_JOB, AVAILABILITY_ZONE,
      VIRTUAL_NETWORK, CONSISTENCY_GROUP, SUBNET_EXTENSION
    `),
  ),
})
export const KVPair = s.object('common.v1.config.KVPair', {
  name: s.optional(s.text()),
  value: s.optional(
    s.oneOf(
      s.text(),
      s.integer(),
      s.boolean(),
      s.arrayOf(s.text()),
      s.mapOf(s.text()),
      s.arrayOf(s.object('common.v1.config.MapOfStringWrapper', { map: s.optional(s.mapOf(s.text())) })),
      s.arrayOf(s.integer()),
    ),
  ),
})
export const Flag = s.object('common.v1.config.Flag', { name: s.text(), value: s.boolean() })
export const Message = s.object('common.v1.config.Message', {
  code: s.optional(s.text()),
  message: s.optional(s.text({ multiline: true })),
  locale: s.optional(s.text()),
  severity: s.optional(s.enumeration(['INFO', 'WARNING', 'ERROR'])),
})
export const Metadata = s.object('common.v1.config.Metadata', {
  ownerReferenceId: s.optional(s.uuid()),
  ownerUserName: s.optional(s.text({ maxLength: 128 })),
  projectReferenceId: s.optional(s.uuid()),
  projectName: s.optional(s.text({ maxLength: 128 })),
  categoryIds: s.optional(s.arrayOf(s.uuid(), { maxItems: 256 })),
})
