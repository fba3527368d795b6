/** Facts that events can change. Fields are named as in the API or, if absent there, in the drivers. */
import {
  type AnySchema,
  anything,
  arrayOf,
  boolean,
  enumeration,
  integer,
  mapOf,
  type ObjectSchema,
  object,
  optional,
  type Fields as SchemaFields,
  secret,
  text,
  uuid,
} from '@hyperplane/contract'
import {
  NtpServerConfig,
  nfsSubnetWhitelist,
  PulseStatus,
  RsyslogServer,
  SmtpServerRef,
  SnmpConfig,
} from '@hyperplane/contract/clustermgmt/settings'
import type { factKinds } from '@hyperplane/contract/control/world-happening'
import { IPAddressOrFQDN } from '@hyperplane/contract/shapes'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { secretDigest } from '../../hardware.ts'
import type { Domain } from '../../hypervisor.ts'
import type { SubnetProgram } from '../../network-fabric.ts'
import type { AuthorityFact } from '../authority.ts'
import { blockDiskFacts } from '../block-facts.ts'
import { settled } from '../block-use.ts'
import type { SimulatedUser } from '../directory.ts'
import { outsideVms, switchedOutside } from '../external-hypervisor.ts'
import { type BmcFact, bmcDigest, type ClusterFact, type ContainerFact } from '../hardware.ts'
import { domainFacts, haltGuest } from '../hypervisor/facts.ts'
import { fabricFacts } from '../network-fabric.ts'
import { digestOf } from '../place-doors.ts'
import { type RemoteFact, remoteSides } from '../remote-managers.ts'
import type { SimulatedWorld } from '../world.ts'
import { CannotHappen, type TargetKind } from './event.ts'

export type FactKind = (typeof factKinds)[number]
/** `any`: the schema of the kind has validated the value. */
type Fields = Readonly<Record<string, any>>

interface KindOfFact {
  readonly target: TargetKind
  readonly schema: ObjectSchema
  readonly read: (world: SimulatedWorld, id: string) => Fields | undefined
  readonly write: (world: SimulatedWorld, id: string, next: Fields, before: Fields) => Promise<void>
  readonly digestOf?: (id: string, plain: string) => string
  /** Content of the field for a secret with this digest; default: the digest. */
  readonly secretOf?: (digest: string) => unknown
}

const name = text({ minLength: 1, maxLength: 255 })
const named = optional(name)

function entryOf<F extends object>(
  collection: string,
  schema: ObjectSchema,
): Pick<KindOfFact, 'schema' | 'read' | 'write'> {
  return {
    schema,
    read: (world, id) => world.collection<F>(collection).get(id),
    write: (world, id, next) => world.collection<F>(collection).put(id, next as F),
  }
}

/** Fields of an external VM that this manager stores; the external management owns the others. */
const heldHere = ['categories', 'extId', 'links', 'nutanixGuestTools', 'ownershipInfo', 'tenantId']
const heldOutside: SchemaFields = Object.fromEntries(
  Object.entries(ExternVm.schema.fields).filter(([field]) => !heldHere.includes(field)),
)

export const kindsOfFacts: Readonly<Record<FactKind, KindOfFact>> = {
  AUTHORITY: {
    target: 'certificate authority',
    ...entryOf<AuthorityFact>(
      'web.authorities',
      object('', {
        revoked: arrayOf(text({ pattern: '^[0-9a-fA-F]{1,64}$' }), { maxItems: 10_000 }),
        skewSeconds: optional(integer()),
        validSeconds: integer({ minimum: 1 }),
      }),
    ),
  },
  BGP_SESSION: {
    target: 'BGP session',
    schema: object('', { originates: optional(arrayOf(text({ maxLength: 49 }), { maxItems: 1000 })) }),
    read(world, id) {
      const { bgpPeers, bgpFaults } = fabricFacts(world)
      return bgpPeers.get(id) === undefined ? undefined : (bgpFaults.get(id) ?? {})
    },
    write: (world, id, next) => fabricFacts(world).bgpFaults.put(id, next),
  },
  BMC: {
    target: 'host',
    schema: object('', {
      address: text({ minLength: 2, maxLength: 45 }),
      username: name,
      password: secret(text({ minLength: 1, maxLength: 256 })),
    }),
    read(world, id) {
      const bmc = world.collection<BmcFact>('hardware.bmcs').get(id)
      return bmc && { address: bmc.address, username: bmc.username, password: bmc.passwordDigest }
    },
    write: (world, id, { address, username, password }) =>
      world.collection<BmcFact>('hardware.bmcs').put(id, { address, username, passwordDigest: password }),
    digestOf: bmcDigest,
  },
  CLUSTER: {
    target: 'cluster',
    schema: object('', {
      NTP_SERVER_CONFIG: optional(
        object('', {
          ntpServerIpList: optional(arrayOf(IPAddressOrFQDN, { maxItems: 1024 })),
          ntpServerConfigList: optional(arrayOf(NtpServerConfig, { maxItems: 1024 })),
        }),
      ),
      NAME_SERVER_CONFIG: optional(arrayOf(IPAddressOrFQDN, { maxItems: 1024 })),
      SMTP_SERVER_CONFIG: optional(SmtpServerRef),
      NFS_SUBNET_WHITELIST_CONFIG: optional(nfsSubnetWhitelist),
      SNMP_SERVER_CONFIG: optional(SnmpConfig),
      RSYSLOG_SERVER_CONFIG: optional(arrayOf(RsyslogServer, { maxItems: 1024 })),
      PULSE_CONFIG: optional(PulseStatus),
    }),
    read: (world, id) => world.collection<ClusterFact>('hardware.clusters').get(id)?.settings,
    write(world, id, settings) {
      const clusters = world.collection<ClusterFact>('hardware.clusters')
      return clusters.put(id, { ...clusters.get(id), settings })
    },
    digestOf: secretDigest,
    secretOf: (digest) => ({ digest }),
  },
  DIRECTORY_USER: {
    target: 'directory user',
    ...entryOf<SimulatedUser>(
      'directory.users',
      object('', {
        displayName: named,
        emailId: named,
        isDisabled: optional(boolean()),
        password: secret(text({ minLength: 1, maxLength: 256 })),
      }),
    ),
    digestOf: (_, plain) => digestOf(plain),
  },
  EXTERNAL_VM: {
    target: 'external VM',
    schema: object('', {
      ...heldOutside,
      powerState: optional(enumeration(['ON', 'OFF', 'SUSPENDED'])),
      refusesLogin: optional(boolean()),
    }),
    read: (world, id) => {
      const fact = outsideVms(world).get(id)
      return fact && { ...fact.vm, refusesLogin: fact.refusesLogin === true }
    },
    async write(world, id, { powerState, refusesLogin, ...vm }) {
      const fact = outsideVms(world).get(id)
      if (fact === undefined) return
      const switched = powerState === undefined ? fact : switchedOutside(world, fact, powerState)
      await outsideVms(world).put(id, { ...switched, refusesLogin, vm: { ...switched.vm, ...vm } })
    },
  },
  REMOTE: {
    target: 'remote cluster or manager',
    schema: object('', { name, version: name, clockSkewSeconds: optional(integer()) }),
    read: (world, id) => remoteSides(world).get(id),
    write: (world, id, next) => remoteSides(world).put(id, next as RemoteFact),
  },
  STORAGE_CONTAINER: {
    target: 'storage container',
    ...entryOf<ContainerFact>('hardware.containers', object('', { name, policy: mapOf(anything()) })),
  },
  SUBNET: {
    target: 'subnet',
    schema: object('', {
      tag: integer({ minimum: 0, maximum: 16_777_215 }),
      hostExtIds: arrayOf(uuid(), { maxItems: 10_000 }),
    }),
    read: (world, id) => fabricFacts(world).subnets.get(id),
    write: (world, id, next) => fabricFacts(world).subnets.put(id, next as SubnetProgram),
  },
  VM: {
    target: 'VM',
    schema: object('', {
      name,
      memoryBytes: integer({ minimum: 1 }),
      vcpus: integer({ minimum: 1, maximum: 240 }),
      powerState: enumeration(['OFF', 'ON']),
    }),
    read(world, id) {
      const fact = domainFacts(world).get(id)
      return fact && { ...fact.domain, powerState: fact.state }
    },
    async write(world, id, { powerState, ...domain }, before) {
      if (powerState === 'ON' && before['powerState'] === 'OFF')
        throw new CannotHappen(
          'A host starts no VM that was not placed on it: power it on over the interface.',
          'value',
        )
      const fact = domainFacts(world).get(id)
      if (fact === undefined) return
      if (powerState !== before['powerState']) await haltGuest(world, id)
      else await domainFacts(world).put(id, { ...fact, domain: domain as Domain })
    },
  },
  VOLUME_DISK: {
    target: 'volume disk',
    schema: object('', { isThick: boolean(), writtenBytes: integer({ minimum: 0 }) }),
    read(world, id) {
      const disk = blockDiskFacts(world).get(id)
      return disk && { isThick: false, ...disk }
    },
    async write(world, id, next) {
      const disk = blockDiskFacts(world).get(id)
      if (disk === undefined) return
      const { writtenBytes, isThick } = next as { writtenBytes: number; isThick: boolean }
      if (writtenBytes > disk.sizeBytes)
        throw new CannotHappen(
          `expected at most the size of the disk, ${disk.sizeBytes}; found ${writtenBytes}`,
          'value',
        )
      await blockDiskFacts(world).put(id, { ...settled(world, disk), writtenBytes, isThick })
    },
  },
}

export function stepInto(schema: AnySchema, step: string): AnySchema | undefined {
  if (schema.type === 'object') return Object.hasOwn(schema.fields, step) ? schema.fields[step] : undefined
  if (schema.type === 'map') return schema.values
  if (schema.type === 'list') return /^\d{1,4}$/.test(step) ? schema.items : undefined
  return undefined
}
