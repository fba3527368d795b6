/**
 * Settings that clusters and cluster profiles share.
 * Source: specification 2.4; catalogue clustermgmt.json (limits, enums); behaviour clustermgmt.md 1.2, 1.10 to 1.12.
 */
import { baseFields } from '../operation.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  integer,
  object,
  optional,
  readOnly,
  secret,
  text,
  timestamp,
  uuid,
  withDefault,
} from '../schema.ts'
import { IPAddress, IPAddressOrFQDN } from '../shapes.ts'

const octet = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const dottedQuad = `(?:${octet}\\.){3}${octet}`

/** The catalogue's pattern without its nested repetition: it accepts the same names, in linear time. */
export const fqdnPattern = '^(?:[a-z0-9]+(?:-[a-z0-9]+)*\\.)+[a-z0-9]+(?:-[a-z0-9]+)*$'

const port = integer({ minimum: 1, maximum: 65535 })

/** Items are `<ipv4 address>/<netmask>`; the domain checks that the mask is contiguous. */
export const nfsSubnetWhitelist = arrayOf(text({ pattern: `^${dottedQuad}/${dottedQuad}$` }), { maxItems: 1024 })

export const SmtpServerRef = object('clustermgmt.v4.config.SmtpServerRef', {
  emailAddress: text({ pattern: '^[a-zA-Z0-9_.-]+@[a-zA-Z0-9_.-]+\\.[a-zA-Z]{2,5}$' }),
  type: optional(enumeration(['PLAIN', 'STARTTLS', 'SSL'])),
  server: object('clustermgmt.v4.config.SmtpNetwork', {
    ipAddress: IPAddressOrFQDN,
    // Default by `type`: 25, 587 or 465.
    port: optional(port),
    username: optional(text({ maxLength: 64 })),
    password: secret(text()),
  }),
})

export const NtpServerConfig = object('clustermgmt.v4.config.NtpServerConfig', {
  ntpServerAddress: IPAddressOrFQDN,
  encryptionAlgorithm: optional(enumeration(['SHA256', 'SHA384', 'SHA512'])),
  encryptionKey: secret(text()),
  encryptionKeyId: optional(integer()),
})

export const PulseStatus = object('clustermgmt.v4.config.PulseStatus', {
  isEnabled: optional(boolean()),
  piiScrubbingLevel: optional(enumeration(['DEFAULT', 'ALL'])),
})

const snmpProtocol = enumeration(['UDP', 'UDP6', 'TCP', 'TCP6'])
const snmpKey = text({ minLength: 8, pattern: "^[^']+$" })

export const SnmpUser = object('clustermgmt.v4.config.SnmpUser', {
  ...baseFields,
  username: text({ minLength: 1, maxLength: 64 }),
  authType: enumeration(['MD5', 'SHA']),
  // Required for a new user; an existing user keeps its key when it is absent.
  authKey: secret(snmpKey),
  privType: optional(enumeration(['DES', 'AES'])),
  privKey: secret(snmpKey),
})

export const SnmpTransport = object('clustermgmt.v4.config.SnmpTransport', {
  protocol: snmpProtocol,
  port,
})

export const SnmpTrap = object('clustermgmt.v4.config.SnmpTrap', {
  ...baseFields,
  address: IPAddress,
  username: optional(text({ minLength: 1, maxLength: 64 })),
  protocol: withDefault(snmpProtocol, 'UDP'),
  port: withDefault(port, 162),
  shouldInform: optional(boolean()),
  engineId: optional(text({ pattern: '^(?:0[xX])?[0-9a-fA-F]+$' })),
  version: enumeration(['V2', 'V3']),
  recieverName: optional(text({ maxLength: 64 })),
  communityString: optional(text()),
})

export const SnmpConfig = object('clustermgmt.v4.config.SnmpConfig', {
  ...baseFields,
  isEnabled: optional(boolean()),
  users: optional(arrayOf(SnmpUser, { maxItems: 1024 })),
  transports: optional(arrayOf(SnmpTransport, { maxItems: 1024 })),
  traps: optional(arrayOf(SnmpTrap, { maxItems: 1024 })),
})

const RsyslogModuleItem = object('clustermgmt.v4.config.RsyslogModuleItem', {
  name: enumeration(
    [
      'CASSANDRA',
      'CEREBRO',
      'CURATOR',
      'GENESIS',
      'PRISM',
      'STARGATE',
      'SYSLOG_MODULE',
      'ZOOKEEPER',
      'UHARA',
      'LAZAN',
      'API_AUDIT',
      'AUDIT',
      'CALM',
      'EPSILON',
      'ACROPOLIS',
      'MINERVA_CVM',
      'FLOW',
      'FLOW_SERVICE_LOGS',
      'LCM',
      'APLOS',
      'NCM_AIOPS',
    ],
    { valuesSince: { NCM_AIOPS: 'v4.2' } },
  ),
  logSeverityLevel: enumeration(['EMERGENCY', 'ALERT', 'CRITICAL', 'ERROR', 'WARNING', 'NOTICE', 'INFO', 'DEBUG']),
  shouldLogMonitorFiles: withDefault(boolean(), true),
})

export const RsyslogServer = object('clustermgmt.v4.config.RsyslogServer', {
  ...baseFields,
  serverName: text({ minLength: 1, maxLength: 64 }),
  ipAddress: IPAddress,
  port,
  networkProtocol: enumeration(['UDP', 'TCP', 'RELP']),
  modules: optional(arrayOf(RsyslogModuleItem, { maxItems: 1024 })),
})

/** The settings of a cluster that a profile can prescribe, by the name that drift reports. */
export const configType = enumeration([
  'NTP_SERVER_CONFIG',
  'NAME_SERVER_CONFIG',
  'SMTP_SERVER_CONFIG',
  'NFS_SUBNET_WHITELIST_CONFIG',
  'SNMP_SERVER_CONFIG',
  'RSYSLOG_SERVER_CONFIG',
  'PULSE_CONFIG',
])

export const ManagedCluster = object('clustermgmt.v4.config.ManagedCluster', {
  extId: uuid(),
  isCompliant: readOnly(boolean()),
  lastSyncedTime: readOnly(timestamp()),
  configDrifts: readOnly(arrayOf(configType, { maxItems: 50 })),
})
