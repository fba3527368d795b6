/**
 * Clusters and their machines: settings, storage containers, datastores and management controllers (BMC). Implemented
 * by `simulated/` and by each real backend. Answers are the actual state, which can differ from what the control plane
 * stored (drift).
 * Source: behaviour clustermgmt.md 1.2, 1.9, 1.10, 1.13, 3.
 */
import { createHash } from 'node:crypto'
import type { ValueOf } from '@hyperplane/contract'
import type {
  configType,
  NtpServerConfig,
  PulseStatus,
  RsyslogServer,
  SmtpServerRef,
  SnmpConfig,
} from '@hyperplane/contract/clustermgmt/settings'
import type { IPAddressOrFQDN } from '@hyperplane/contract/shapes'

/** A part of a cluster's settings, by the name under which profiles report drift. */
export type SettingsSection = ValueOf<typeof configType>

type Address = ValueOf<typeof IPAddressOrFQDN>

/** Settings of a cluster by section; a section that is absent is unset. Read back, a secret is `{ digest }`. */
export interface ClusterSettings {
  readonly NTP_SERVER_CONFIG?: {
    readonly ntpServerIpList?: readonly Address[]
    readonly ntpServerConfigList?: readonly ValueOf<typeof NtpServerConfig>[]
  }
  readonly NAME_SERVER_CONFIG?: readonly Address[]
  readonly SMTP_SERVER_CONFIG?: ValueOf<typeof SmtpServerRef>
  readonly NFS_SUBNET_WHITELIST_CONFIG?: readonly string[]
  readonly SNMP_SERVER_CONFIG?: ValueOf<typeof SnmpConfig>
  readonly RSYSLOG_SERVER_CONFIG?: readonly ValueOf<typeof RsyslogServer>[]
  readonly PULSE_CONFIG?: ValueOf<typeof PulseStatus>
  /** All other settings: name, addresses, redundancy, keys. */
  readonly general?: Readonly<Record<string, unknown>>
}

/**
 * Sections to change; `null` unsets one. Time servers, SNMP, Pulse and `general` are merged field by field; other
 * sections are replaced. Secrets are plain here.
 */
export type SettingsChange = { readonly [S in keyof ClusterSettings]?: ClusterSettings[S] | null }

export interface ContainerSpec {
  readonly extId: string
  readonly clusterExtId: string
  readonly name: string
  /** Replication, reservations and reductions as the container's kind names them. */
  readonly policy: Readonly<Record<string, unknown>>
}

export interface DatastoreSpec {
  readonly clusterExtId: string
  readonly hostExtId: string
  readonly containerExtId: string
  readonly datastoreName: string
  readonly isReadOnly: boolean
  readonly targetPath?: string
}

export interface BmcAccess {
  readonly hostExtId: string
  readonly address: string
  readonly username: string
  readonly password: string
}

export type BmcStatus = 'VALID' | 'INVALID' | 'UNAVAILABLE'

/** The state of a host as its cluster sees it. */
export interface HostCondition {
  readonly isUp: boolean
  /** Since when it does not answer; milliseconds since 1970. */
  readonly silentSince?: number
  /** It works, but far too slowly. */
  readonly isDegraded: boolean
  /** Last boot, if known more exactly than from its row; milliseconds since 1970. */
  readonly bootedAt?: number
}

/** Methods that answer a promise reject with a DriverError: retryable when the cluster does not answer within 10 s. */
export interface Hardware {
  /** The result of the last heartbeat of the cluster. Answers at once, from memory. */
  isReachable(clusterExtId: string): boolean
  /** Tries the credential. An unanswered probe is UNAVAILABLE after 10 s. */
  probeBmc(access: BmcAccess): Promise<BmcStatus>
  /**
   * Calls `changed` when an answer of this interface may have changed; the returned function ends the watch. A backend
   * without notifications calls it at the interval at which it wants to be polled.
   */
  watch(changed: () => void): () => void
  /** Whether the host is up, as far as the cluster knows. Answers at once, from memory. */
  isHostUp(hostExtId: string): boolean
  /** Answers at once, from memory. */
  conditionOf(hostExtId: string): HostCondition
  /** Failed drives with the time of the failure; milliseconds since 1970. Answers at once, from memory. */
  failedDrives(): ReadonlyMap<string, number>
  /** Bytes of foreign files in a container, as of the last poll. Answers at once, from memory. */
  foreignBytes(containerExtId: string): number

  readSettings(clusterExtId: string): Promise<ClusterSettings>
  /**
   * Changes these sections, all or none, and returns all settings. A repeated call with the same `callKey` changes
   * nothing.
   */
  writeSettings(clusterExtId: string, change: SettingsChange, callKey: string): Promise<ClusterSettings>
  /** Restores what the call with this key replaced; resolves at once when that call never took effect. */
  takeBackSettings(clusterExtId: string, callKey: string): Promise<void>

  /** Creates the container, or applies this policy to it. */
  putContainer(container: ContainerSpec, callKey: string): Promise<void>
  /** Restores what the call with this key replaced, or removes the container that it created. */
  takeBackContainer(clusterExtId: string, containerExtId: string, callKey: string): Promise<void>
  removeContainer(clusterExtId: string, containerExtId: string): Promise<void>
  /** Sizes of files in the container that belong to no entity of the control plane. */
  leftoverFiles(clusterExtId: string, containerExtId: string): Promise<readonly number[]>

  mountDatastore(datastore: DatastoreSpec): Promise<void>
  /** Resolves also when the datastore is not mounted. */
  unmountDatastore(clusterExtId: string, hostExtId: string, datastoreName: string): Promise<void>
}

const secretFields = new Set(['authKey', 'encryptionKey', 'password', 'privKey'])

/** Sections that are merged field by field. */
export const mergedSections: ReadonlySet<string> = new Set([
  'NTP_SERVER_CONFIG',
  'PULSE_CONFIG',
  'SNMP_SERVER_CONFIG',
  'general',
])

/** Digest of a cluster's secret, for comparison: equal texts on the same cluster have equal digests. */
export const secretDigest = (scope: string, plain: string): string =>
  createHash('sha256').update(`${scope}\0${plain}`).digest('base64url')

/** A copy with each plain secret replaced by `{ digest }`; digests stay. */
export function withDigests<T>(scope: string, value: T): T {
  if (Array.isArray(value)) return value.map((item) => withDigests(scope, item)) as T
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const [name, item] of Object.entries(value)) {
    const isPlain = secretFields.has(name) && typeof item === 'string'
    copy[name] = isPlain ? { digest: secretDigest(scope, item) } : withDigests(scope, item)
  }
  return copy as T
}
