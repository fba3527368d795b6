/** Clusters and their machines in their actual state, which drifts from the stored one. Source: clustermgmt.md 1.2, 1.9, 1.10, 1.13, 3. */
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
import type { ClusterCertificates } from './cluster-certificates.ts'
import type { ClusterFormation } from './cluster-formation.ts'
import type { ControllerVms } from './controller-vms.ts'
import type { Drives } from './drives.ts'
import type { Nodes } from './nodes.ts'
import type { ClusterLogs } from './syslog.ts'
import type { SystemAccounts } from './system-accounts.ts'

/** Named as in the drift reports of profiles. */
export type SettingsSection = ValueOf<typeof configType>

type Address = ValueOf<typeof IPAddressOrFQDN>

/** An absent section is unset. Secrets are read as `{ digest }`. */
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

/** `null` unsets a section. Sections in `mergedSections` are merged by field, others replaced. Secrets are plain. */
export type SettingsChange = { readonly [S in keyof ClusterSettings]?: ClusterSettings[S] | null }

export interface ContainerSpec {
  readonly extId: string
  readonly clusterExtId: string
  readonly name: string
  /** Replication, reservations and reductions, as in StorageContainer. */
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

interface DeviceInHost {
  readonly extId: string
  readonly clusterExtId: string
  readonly hostExtId: string
  readonly name: string
  readonly address: { readonly segment: number; readonly bus: number; readonly device: number; readonly func: number }
}

/** Passed to one VM entirely. */
export interface PassthroughGpu extends DeviceInHost {
  readonly kind: 'GPU'
  readonly mode: 'PASSTHROUGH_COMPUTE' | 'PASSTHROUGH_GRAPHICS'
  readonly vendor: 'NVIDIA' | 'INTEL' | 'AMD'
  readonly deviceId: number
  readonly frameBufferSizeBytes: number
}

/** Shared by VMs. At any time all its virtual GPUs are of one type. */
export interface SharedGpu extends DeviceInHost {
  readonly kind: 'SHARED_GPU'
  readonly vendor: 'NVIDIA' | 'INTEL' | 'AMD'
  readonly deviceId: number
  readonly frameBufferSizeBytes: number
  readonly types: readonly VirtualGpuType[]
}

export interface VirtualGpuType {
  readonly deviceId: number
  readonly name: string
  readonly fraction: number
  readonly frameBufferSizeBytes: number
  readonly numVirtualDisplayHeads: number
  readonly guestDriverVersion: string
}

export interface PcieCard extends DeviceInHost {
  readonly kind: 'PCIE'
  readonly type: 'ENCRYPTION_DECRYPTION_CONTROLLER' | 'PROCESSING_ACCELERATOR'
  readonly configuration: {
    readonly vendorId: number
    readonly deviceId: number
    readonly classId: number
    readonly subClassId: number
    readonly progIFace: number
    readonly subSystemVendorId: number
    readonly subSystemId: number
  }
}

export type HostDevice = PassthroughGpu | SharedGpu | PcieCard

export type BmcStatus = 'VALID' | 'INVALID' | 'UNAVAILABLE'

/** As the cluster sees the host. */
export interface HostCondition {
  readonly isUp: boolean
  readonly silentSince?: number
  /** The host works, but far too slowly. */
  readonly isDegraded: boolean
  readonly bootedAt?: number
}

/** Promises reject with a DriverError: retryable after 10 s without an answer. Other results come from memory. */
export interface Hardware
  extends ClusterCertificates,
    ClusterFormation,
    ClusterLogs,
    ControllerVms,
    Drives,
    Nodes,
    SystemAccounts {
  /** Result of the last heartbeat. */
  isReachable(clusterExtId: string): boolean
  /** An unanswered probe is UNAVAILABLE after 10 s. */
  probeBmc(access: BmcAccess): Promise<BmcStatus>
  /** `changed` gets ids of clusters, hosts and drives; undefined: any may have changed. Backends without notifications poll. */
  watch(changed: (ids?: readonly string[]) => void): () => void
  /** From the cluster's own heartbeat. */
  isHostUp(hostExtId: string): boolean
  conditionOf(hostExtId: string): HostCondition
  /** Devices of the cluster's hosts that VMs may use, ordered by host and address. */
  devicesOf(clusterExtId: string): readonly HostDevice[]
  /** Bytes of foreign files in the container, as of the last poll. */
  foreignBytes(containerExtId: string): number

  /** The controller VM of the host stops serving; the host starts no VMs and takes none from other hosts. */
  enterMaintenance(clusterExtId: string, hostExtId: string): Promise<void>
  /** Resolves also when the host is not in maintenance. */
  leaveMaintenance(clusterExtId: string, hostExtId: string): Promise<void>

  readSettings(clusterExtId: string): Promise<ClusterSettings>
  /** Atomic; returns all settings. A repeated call with the same `callKey` changes nothing. */
  writeSettings(clusterExtId: string, change: SettingsChange, callKey: string): Promise<ClusterSettings>
  /** Restores what the call replaced; resolves at once if the call never took effect. */
  takeBackSettings(clusterExtId: string, callKey: string): Promise<void>

  /** Creates the container, or changes its policy. */
  putContainer(container: ContainerSpec, callKey: string): Promise<void>
  /** Restores what the call replaced, or removes the container that it created. */
  takeBackContainer(clusterExtId: string, containerExtId: string, callKey: string): Promise<void>
  removeContainer(clusterExtId: string, containerExtId: string): Promise<void>
  /** Sizes of files that belong to no entity. */
  leftoverFiles(clusterExtId: string, containerExtId: string): Promise<readonly number[]>

  mountDatastore(datastore: DatastoreSpec): Promise<void>
  /** Resolves also when the datastore is not mounted. */
  unmountDatastore(clusterExtId: string, hostExtId: string, datastoreName: string): Promise<void>
}

const secretFields = new Set(['authKey', 'encryptionKey', 'password', 'privKey'])

export const mergedSections: ReadonlySet<string> = new Set([
  'NTP_SERVER_CONFIG',
  'PULSE_CONFIG',
  'SNMP_SERVER_CONFIG',
  'general',
])

/** For comparison: equal texts in the same scope have equal digests. */
export const secretDigest = (scope: string, plain: string): string =>
  createHash('sha256').update(`${scope}\0${plain}`).digest('base64url')

/** Replaces each plain secret by `{ digest }`, in a copy; digests stay. */
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
