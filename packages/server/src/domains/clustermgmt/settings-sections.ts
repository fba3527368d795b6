/** Source: behaviour clustermgmt.md 1.10. */
import { defined } from '../../core/defined.ts'
import type { SecretReader } from '../../core/world.ts'
import { type ClusterSettings, type SettingsChange, type SettingsSection, withDigests } from '../../drivers/hardware.ts'
import type { Settings } from './settings-rules.ts'

/** The order in which drift is reported. */
export const sections: readonly SettingsSection[] = [
  'NTP_SERVER_CONFIG',
  'NAME_SERVER_CONFIG',
  'SMTP_SERVER_CONFIG',
  'NFS_SUBNET_WHITELIST_CONFIG',
  'SNMP_SERVER_CONFIG',
  'RSYSLOG_SERVER_CONFIG',
  'PULSE_CONFIG',
]

interface PrescribedSettings extends Settings {
  readonly pulseStatus?: { readonly isEnabled?: boolean; readonly piiScrubbingLevel?: string }
}

/** A sparse update sends an empty list to remove a section from a profile. */
const unlessEmpty = <T>(list: readonly T[] | undefined): readonly T[] | undefined =>
  list === undefined || list.length === 0 ? undefined : list

/** In the driver's shape; secrets stay encrypted. */
export function sectionsOf(settings: PrescribedSettings): ClusterSettings {
  const ntp = defined({
    ntpServerIpList: unlessEmpty(settings.ntpServerIpList),
    ntpServerConfigList: unlessEmpty(settings.ntpServerConfigList),
  })
  const found = {
    NTP_SERVER_CONFIG: Object.keys(ntp).length === 0 ? undefined : ntp,
    NAME_SERVER_CONFIG: unlessEmpty(settings.nameServerIpList),
    SMTP_SERVER_CONFIG: settings.smtpServer,
    NFS_SUBNET_WHITELIST_CONFIG: unlessEmpty(settings.nfsSubnetWhitelist),
    SNMP_SERVER_CONFIG: settings.snmpConfig,
    RSYSLOG_SERVER_CONFIG: unlessEmpty(settings.rsyslogServerList),
    PULSE_CONFIG: settings.pulseStatus,
  }
  return defined(found) as ClusterSettings
}

/** Compares secrets by digest. */
export function differingSections(
  clusterExtId: string,
  settings: ClusterSettings,
  actual: ClusterSettings,
): SettingsSection[] {
  const expected: ClusterSettings = withDigests(clusterExtId, settings)
  return sections.filter((section) => {
    const prescribed = expected[section]
    return prescribed !== undefined && !agrees(section, prescribed, actual[section])
  })
}

function agrees(section: SettingsSection, expected: object, actual: object | undefined): boolean {
  if (section === 'NAME_SERVER_CONFIG' || section === 'SMTP_SERVER_CONFIG')
    return canonical(expected) === canonical(actual)
  if (Array.isArray(expected)) return asSet(expected) === asSet(actual)
  // Extra fields of the actual settings and the order of lists are no drift.
  const present: Fields = { ...actual }
  return Object.entries(expected as Fields).every(
    ([name, value]) =>
      isDecoration(name) ||
      (Array.isArray(value) ? asSet(value) === asSet(present[name]) : canonical(value) === canonical(present[name])),
  )
}

const asSet = (list: unknown): string => (Array.isArray(list) ? list.map(canonical).sort().join('\n') : '')

const canonical = (value: unknown): string => JSON.stringify(plain(value)) ?? ''

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const names = Object.keys(value).filter((name) => !isDecoration(name))
  return Object.fromEntries(names.sort().map((name) => [name, plain((value as Fields)[name])]))
}

type Fields = Readonly<Record<string, unknown>>

const isDecoration = (name: string): boolean => ['$objectType', 'extId', 'links', 'tenantId'].includes(name)

/** Decrypts every secret in `value`; its path within the entity is part of the encryption context. */
export function openSecrets<T>(secrets: SecretReader, kind: string, extId: string, value: T, path = ''): T {
  if (Array.isArray(value)) return value.map((item) => openSecrets(secrets, kind, extId, item, path)) as T
  if (typeof value !== 'object' || value === null) return value
  if ('$sealed' in value) return secrets.open(kind, extId, path, value) as T
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      openSecrets(secrets, kind, extId, item, path === '' ? name : `${path}/${name}`),
    ]),
  ) as T
}

/** A cluster's row has no fields for SNMP and rsyslog. */
export function inClusterRow(change: SettingsChange): {
  network: Record<string, unknown>
  config: Record<string, unknown>
} {
  const network = {
    ntpServerIpList: change.NTP_SERVER_CONFIG?.ntpServerIpList,
    ntpServerConfigList: change.NTP_SERVER_CONFIG?.ntpServerConfigList,
    nameServerIpList: change.NAME_SERVER_CONFIG ?? undefined,
    smtpServer: change.SMTP_SERVER_CONFIG ?? undefined,
    nfsSubnetWhitelist: change.NFS_SUBNET_WHITELIST_CONFIG ?? undefined,
  }
  return { network: defined(network), config: defined({ pulseStatus: change.PULSE_CONFIG ?? undefined }) }
}
