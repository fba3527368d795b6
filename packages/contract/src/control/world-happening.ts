/**
 * World events; a lasting one ends with its counterpart. Effects: docs/reference/world-events.md.
 * Source: behaviour clustermgmt.md 3, iam.md 11, networking.md 3.4, platform.md 12, vmm.md 3.8, volumes-storage.md 3 (faults).
 */
import { names } from '../names.ts'
import * as s from '../schema.ts'

const named = s.text({ minLength: 1, maxLength: 255 })
const nic = s.text({ minLength: 1, maxLength: 64 })
const tcpPort = s.integer({ minimum: 1, maximum: 65535 })
const percent = s.integer({ minimum: 1, maximum: 100 })

/** The schema of `HOST_FAILS` is `control.v1.HostFails`. */
const happening = <const T extends string, const F extends s.Fields>(type: T, fields: F) =>
  s.object(`control.v1.${type.replace(/_?([A-Z])([A-Z]*)/g, (_, first, rest) => first + rest.toLowerCase())}`, {
    type: s.enumeration([type]),
    ...fields,
  })

export const factKinds = names(`
  AUTHORITY, BGP_SESSION, BMC, CLUSTER, DIRECTORY_USER, EXTERNAL_VM, REMOTE, STORAGE_CONTAINER, SUBNET, VM, VOLUME_DISK
`)

export const placeFaults = names(`
  ACCESS_DENIED, BIT_FLIP, FULL, LOSES_COMPLETE, SLOW, SLOW_DOWN, TORN_UPLOAD, UNREACHABLE
`)

export const contentFaults = names('CORRUPT, CUT, DOWN, LOGIN, SLOW, STATUS, UNTRUSTED')

export const directoryFaults = names('DOWN, SLOW, TLS, WRONG_BIND')

export const guestFaults = names('IGNORES_ACPI, LOGIN_REFUSED, NETWORK_FUNCTION_DEAF, SCRIPT_FAILS, TOOLS_CRASH')

const slowness = s.withDefault(s.number({ minimum: 1.1, maximum: 1000 }), 10)

const happenings = [
  happening('HOST_FAILS', { host: named }),
  happening('HOST_RETURNS', { host: named }),
  happening('HOST_SLOWS', {
    host: named,
    /** Factor by which its drives take longer. */
    factor: slowness,
  }),
  happening('HOST_SPEEDS_UP', { host: named }),
  happening('HOST_AGENT_FALLS_SILENT', { host: named }),
  happening('HOST_AGENT_ANSWERS', { host: named }),
  happening('BMC_FALLS_SILENT', { host: named }),
  happening('BMC_ANSWERS', { host: named }),
  happening('CLUSTER_CUT_OFF', { cluster: named }),
  happening('CLUSTER_RETURNS', { cluster: named }),
  happening('EXTERNAL_MANAGEMENT_FAILS', { cluster: named }),
  happening('EXTERNAL_MANAGEMENT_RETURNS', { cluster: named }),
  happening('EXTERNAL_MANAGEMENT_CHANGES_PASSWORD', { cluster: named }),

  happening('DISK_FAILS', {
    disk: named,
  }),
  happening('DISK_REPLACED', { disk: named }),
  happening('DISK_GOES_OFFLINE', { disk: named }),
  happening('DISK_COMES_ONLINE', { disk: named }),
  happening('DISK_SLOWS', { disk: named, factor: slowness }),
  happening('DISK_SPEEDS_UP', { disk: named }),
  happening('DISK_PULLED', { disk: named }),
  happening('DISK_INSERTED', {
    host: named,
    /** Tier and size default to those of the host's last drive. */
    tier: s.optional(s.enumeration(['SSD_PCIE', 'SSD_SATA', 'DAS_SATA', 'SSD_MEM_NVME'])),
    sizeBytes: s.optional(s.integer({ minimum: 1_000_000_000, maximum: 1_000_000_000_000_000 })),
  }),
  happening('CONTAINER_FILLS', {
    container: named,
    /** Usage after these writes. */
    percent: s.withDefault(percent, 100),
  }),
  happening('CONTAINER_FREED', { container: named }),
  happening('STORAGE_STALLS', { container: named }),
  happening('STORAGE_RESUMES', { container: named }),

  happening('STORAGE_CLIENT_DISCONNECTS', {
    /** An iSCSI or NVMe-TCP client by its initiator name. */
    client: named,
  }),
  happening('STORAGE_CLIENT_CONNECTS', { client: named }),
  happening('STORAGE_CLIENT_CHANGES_SECRET', {
    client: named,
    /** Sent by the client from now on; it logs in when the access list has the same secret. */
    secret: s.secret(s.text({ minLength: 12, maxLength: 16 })),
  }),
  happening('STORAGE_CLIENT_RESTORES_SECRET', { client: named }),
  happening('DATA_SERVICES_FAIL', { cluster: named }),
  happening('DATA_SERVICES_RETURN', { cluster: named }),
  happening('HYDRATION_FAILS', {
    /** A volume group that was reverted. */
    group: named,
  }),
  happening('HYDRATION_RESUMES', { group: named }),

  happening('UPLINK_LOST', {
    host: named,
    /** Any NIC, such as `eth0`; absent: all uplinks of the host. */
    uplink: s.optional(nic),
  }),
  happening('UPLINK_FLAPS', {
    host: named,
    uplink: s.optional(nic),
    /** The link is up for the first half of each period. */
    periodSeconds: s.withDefault(s.integer({ minimum: 2, maximum: 3600 }), 10),
  }),
  happening('UPLINK_RETURNS', { host: named, uplink: s.optional(nic) }),
  happening('BGP_PEER_FALLS_SILENT', { session: named }),
  happening('BGP_PEER_ANSWERS', { session: named }),
  happening('VPN_PEER_FALLS_SILENT', { connection: named }),
  happening('VPN_PEER_ANSWERS', { connection: named }),
  happening('VPN_PEER_CHANGES_KEY', { connection: named }),
  happening('VPN_PEER_RESTORES_KEY', { connection: named }),
  happening('REMOTE_CUT_OFF', {
    /** A cluster or manager, registered or not. */
    remote: named,
  }),
  happening('REMOTE_RETURNS', { remote: named }),
  happening('REMOTE_CERTIFICATE_CHANGES', { remote: named }),
  happening('REMOTE_CERTIFICATE_RESTORED', { remote: named }),
  // A world has at most one network controller, so it needs no name.
  happening('NETWORK_CONTROLLER_FAILS', { state: s.withDefault(s.enumeration(['DEGRADED', 'DOWN']), 'DOWN') }),
  happening('NETWORK_CONTROLLER_RETURNS', {}),

  happening('DIRECTORY_FAILS', {
    /** A directory service, or the host name of one of its servers. */
    directory: named,
    fault: s.withDefault(s.enumeration(directoryFaults), 'DOWN'),
  }),
  happening('DIRECTORY_RETURNS', { directory: named }),
  happening('OBJECT_STORE_FAILS', {
    /** An S3 service, one of its buckets, or a cluster that keeps backups. */
    place: named,
    fault: s.withDefault(s.enumeration(placeFaults), 'UNREACHABLE'),
    afterUploads: s.optional(s.integer({ minimum: 0, maximum: 1_000_000 })),
  }),
  happening('OBJECT_STORE_RETURNS', { place: named }),
  happening('WEB_SERVER_FAILS', {
    server: named,
    fault: s.withDefault(s.enumeration(['DOWN', 'SILENT', 'STATUS']), 'DOWN'),
    status: s.optional(s.integer({ minimum: 400, maximum: 599 })),
  }),
  happening('WEB_SERVER_RETURNS', { server: named }),
  happening('AUTHORITY_FAILS', {
    /** Host name of the URLs at which it publishes. */
    authority: named,
    fault: s.withDefault(s.enumeration(['EXPIRED', 'TRY_LATER', 'WRONG_SIGNER']), 'EXPIRED'),
  }),
  happening('AUTHORITY_RETURNS', { authority: named }),
  happening('CONTENT_SERVER_FAILS', {
    /** Host name in the source URLs of images. */
    server: s.text({ maxLength: 253, pattern: '^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$' }),
    fault: s.withDefault(s.enumeration(contentFaults), 'DOWN'),
    /** For STATUS, which it implies. */
    status: s.optional(s.integer({ minimum: 400, maximum: 599 })),
  }),
  happening('CONTENT_SERVER_RETURNS', {
    server: s.text({ maxLength: 253, pattern: '^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$' }),
  }),

  happening('GUEST_CRASHES', { vm: named }),
  happening('GUEST_HALTS', { vm: named }),
  happening('GUEST_HANGS', { vm: named }),
  happening('GUEST_FAILS', { vm: named, fault: s.withDefault(s.enumeration(guestFaults), 'IGNORES_ACPI') }),
  happening('GUEST_RECOVERS', { vm: named }),
  happening('GUEST_PORT_CLOSES', { vm: named, port: s.withDefault(tcpPort, 80) }),
  /** Without a port: all of the guest. */
  happening('GUEST_PORT_OPENS', { vm: named, port: s.optional(tcpPort) }),
  happening('VM_JOINS_LEGACY_POLICY', {
    vm: named,
    /** Name of the legacy anti-affinity policy, which its first VM creates. */
    name: s.withDefault(s.text({ minLength: 1, maxLength: 512 }), 'legacy'),
  }),

  happening('FACT_CHANGES', {
    kind: s.enumeration(factKinds),
    of: named,
    path: s.text({ minLength: 1, maxLength: 255 }),
    value: s.optional(s.anything()),
    /** Replaces `value` for a secret field. */
    secret: s.secret(s.text({ maxLength: 1024 })),
  }),
  happening('EXTERNAL_VM_VANISHES', { vm: named }),
] as const

export const WorldHappening = s.oneOf(...happenings)

export type Happening = s.ValueOf<typeof WorldHappening>
export type HappeningType = Happening['type']
export type HappeningOf<T extends HappeningType> = Extract<Happening, { readonly type: T }>

export const happeningTypes: readonly HappeningType[] = happenings.map(
  (shape) =>
    (shape.fields.type as s.AnySchema & { readonly values: readonly HappeningType[] }).values[0] as HappeningType,
)
