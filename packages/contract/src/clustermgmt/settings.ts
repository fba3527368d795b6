/** Source: specification 2.4; catalogue clustermgmt.json; behaviour clustermgmt.md 1.2, 1.10 to 1.12. */
import { baseFields } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress, IPAddressOrFQDN } from '../shapes.ts'

const octet = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const dottedQuad = `(?:${octet}\\.){3}${octet}`

/** The catalogue's pattern without nested repetition: the same names, in linear time. */
export const fqdnPattern = '^(?:[a-z0-9]+(?:-[a-z0-9]+)*\\.)+[a-z0-9]+(?:-[a-z0-9]+)*$'

const port = s.integer({ minimum: 1, maximum: 65535 })

/** Items are `<ipv4 address>/<netmask>`; the domain checks that the mask is contiguous. */
export const nfsSubnetWhitelist = s.arrayOf(s.text({ pattern: `^${dottedQuad}/${dottedQuad}$` }), { maxItems: 1024 })

export const SmtpServerRef = s.object('clustermgmt.v4.config.SmtpServerRef', {
  emailAddress: s.text({ pattern: '^[a-zA-Z0-9_.-]+@[a-zA-Z0-9_.-]+\\.[a-zA-Z]{2,5}$' }),
  type: s.optional(s.enumeration(['PLAIN', 'STARTTLS', 'SSL'])),
  server: s.object('clustermgmt.v4.config.SmtpNetwork', {
    ipAddress: IPAddressOrFQDN,
    // Default by `type`: 25, 587 or 465.
    port: s.optional(port),
    username: s.optional(s.text({ maxLength: 64 })),
    password: s.secret(s.text()),
  }),
})

export const HttpProxyConfig = s.object('clustermgmt.v4.config.HttpProxyConfig', {
  name: s.text({ maxLength: 64 }),
  ipAddress: s.optional(IPAddress),
  port: s.optional(port),
  username: s.optional(s.text({ maxLength: 64 })),
  password: s.secret(s.text()),
  proxyTypes: s.optional(s.arrayOf(s.enumeration(['HTTP', 'HTTPS', 'SOCKS']), { maxItems: 3 })),
})

export const HttpProxyWhiteListConfig = s.object('clustermgmt.v4.config.HttpProxyWhiteListConfig', {
  target: s.text(),
  targetType: s.enumeration(['IPV4_ADDRESS', 'IPV6_ADDRESS', 'IPV4_NETWORK_MASK', 'DOMAIN_NAME_SUFFIX', 'HOST_NAME']),
})

export const NtpServerConfig = s.object('clustermgmt.v4.config.NtpServerConfig', {
  ntpServerAddress: IPAddressOrFQDN,
  encryptionAlgorithm: s.optional(s.enumeration(['SHA256', 'SHA384', 'SHA512'])),
  encryptionKey: s.secret(s.text()),
  encryptionKeyId: s.optional(s.integer()),
})

export const PulseStatus = s.object('clustermgmt.v4.config.PulseStatus', {
  isEnabled: s.optional(s.boolean()),
  piiScrubbingLevel: s.optional(s.enumeration(['DEFAULT', 'ALL'])),
})

const snmpProtocol = s.enumeration(['UDP', 'UDP6', 'TCP', 'TCP6'])
const snmpKey = s.text({ minLength: 8, pattern: "^[^']+$" })

export const snmpUserFields = {
  username: s.text({ minLength: 1, maxLength: 64 }),
  authType: s.enumeration(['MD5', 'SHA']),
  // Required for a new user; an existing user keeps its key when it is absent.
  authKey: s.secret(snmpKey),
  privType: s.optional(s.enumeration(['DES', 'AES'])),
  privKey: s.secret(snmpKey),
}

const SnmpUser = s.object('clustermgmt.v4.config.SnmpUser', { ...baseFields, ...snmpUserFields })

export const SnmpTransport = s.object('clustermgmt.v4.config.SnmpTransport', { protocol: snmpProtocol, port })

export const snmpTrapFields = {
  address: IPAddress,
  username: s.optional(s.text({ minLength: 1, maxLength: 64 })),
  protocol: s.withDefault(snmpProtocol, 'UDP'),
  port: s.withDefault(port, 162),
  shouldInform: s.optional(s.boolean()),
  engineId: s.optional(s.text({ pattern: '^(?:0[xX])?[0-9a-fA-F]+$' })),
  version: s.enumeration(['V2', 'V3']),
  recieverName: s.optional(s.text({ maxLength: 64 })),
  communityString: s.optional(s.text()),
}

const SnmpTrap = s.object('clustermgmt.v4.config.SnmpTrap', { ...baseFields, ...snmpTrapFields })

export const SnmpConfig = s.object('clustermgmt.v4.config.SnmpConfig', {
  ...baseFields,
  isEnabled: s.optional(s.boolean()),
  users: s.optional(s.arrayOf(SnmpUser, { maxItems: 1024 })),
  transports: s.optional(s.arrayOf(SnmpTransport, { maxItems: 1024 })),
  traps: s.optional(s.arrayOf(SnmpTrap, { maxItems: 1024 })),
})

const RsyslogModuleItem = s.object('clustermgmt.v4.config.RsyslogModuleItem', {
  name: s.enumeration(
    `
      CASSANDRA, CEREBRO, CURATOR, GENESIS, PRISM, STARGATE, SYSLOG_MODULE, ZOOKEEPER, UHARA, LAZAN, API_AUDIT, AUDIT,
      CALM, EPSILON, ACROPOLIS, MINERVA_CVM, FLOW, FLOW_SERVICE_LOGS, LCM, APLOS, NCM_AIOPS
    `,
    { valuesSince: { NCM_AIOPS: 'v4.2' } },
  ),
  logSeverityLevel: s.enumeration(['EMERGENCY', 'ALERT', 'CRITICAL', 'ERROR', 'WARNING', 'NOTICE', 'INFO', 'DEBUG']),
  shouldLogMonitorFiles: s.withDefault(s.boolean(), true),
})

export const rsyslogServerFields = {
  serverName: s.text({ minLength: 1, maxLength: 64 }),
  ipAddress: IPAddress,
  port,
  networkProtocol: s.enumeration(['UDP', 'TCP', 'RELP']),
  modules: s.optional(s.arrayOf(RsyslogModuleItem, { maxItems: 1024 })),
}

export const RsyslogServer = s.object('clustermgmt.v4.config.RsyslogServer', { ...baseFields, ...rsyslogServerFields })

/** Settings that a profile can prescribe, by the name that drift reports. */
export const configType = s.enumeration(`
  NTP_SERVER_CONFIG, NAME_SERVER_CONFIG, SMTP_SERVER_CONFIG, NFS_SUBNET_WHITELIST_CONFIG, SNMP_SERVER_CONFIG,
  RSYSLOG_SERVER_CONFIG, PULSE_CONFIG
`)

export const ManagedCluster = s.object('clustermgmt.v4.config.ManagedCluster', {
  extId: s.uuid(),
  isCompliant: s.readOnly(s.boolean()),
  lastSyncedTime: s.readOnly(s.timestamp()),
  configDrifts: s.readOnly(s.arrayOf(configType, { maxItems: 50 })),
})
