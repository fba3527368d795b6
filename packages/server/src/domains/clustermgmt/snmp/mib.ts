/** Object identifiers of notifications; docs/reference/HYPERPLANE-ALERT-MIB.txt states the same. They never change. */

/** `netSnmpPlaypen` of NET-SNMP-MIB: free for any use. */
const playpen = '1.3.6.1.4.1.8072.9999.9999'
export const root = `${playpen}.4815`

export const notifications = { alertOpened: `${root}.0.1`, alertClosed: `${root}.0.2` } as const

const objects = [
  'alertId',
  'alertNumber',
  'alertName',
  'alertSeverity',
  'alertText',
  'alertClusterId',
  'alertClusterName',
  'alertEntityKind',
  'alertEntityId',
  'alertEntityName',
  'alertOpenedAt',
  'alertChangedAt',
] as const

export type AlertObject = (typeof objects)[number]

/** The objects are scalars, so each identifier ends with instance 0. */
export const objectIds = Object.fromEntries(
  objects.map((name, index) => [name, `${root}.1.${index + 1}.0`]),
) as Readonly<Record<AlertObject, string>>

export const severities = { CRITICAL: 1, WARNING: 2 } as const

/** Number of the net-snmp project, with the bit that RFC 3411 sets for the newer format. */
const enterprise = '80001f88'
const administrative = '05'

/** In hexadecimal digits, 21 octets. Source: RFC 3411 5 (SnmpEngineID). */
export const engineIdOf = (clusterExtId: string): string =>
  `${enterprise}${administrative}${clusterExtId.replaceAll('-', '')}`
