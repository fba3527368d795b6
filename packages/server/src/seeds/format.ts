/**
 * What a seed file may say, in the words of the contract: what is read, what is refused, the types of the code and the JSON
 * Schema of editors all follow from here. Names of fields are those of the interface, where it has them.
 */
import {
  type AnySchema,
  anything,
  arrayOf,
  boolean,
  enumeration,
  integer,
  mapOf,
  object,
  oneOf,
  optional,
  systemRoles,
  text,
  timestamp,
  uuid,
  type ValueOf,
} from '@hyperplane/contract'
import { presets } from './presets.ts'

/** For whoever writes a seed. */
const about = <S extends AnySchema>(description: string, schema: S): S & { readonly description: string } => ({
  ...schema,
  description,
})

export const largestCount = 1_000_000
export const largestGroup = 100_000

const name = (maxLength = 255) => text({ minLength: 1, maxLength })
const names = (maxItems = 256) => arrayOf(name(), { maxItems })
const nameOrNames = () => oneOf(name(), names())
const GiB = (maximum: number) => integer({ minimum: 1, maximum })
const address = () => text({ minLength: 2, maxLength: 45 })
const prefix = () => text({ minLength: 4, maxLength: 49, pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$' })

/** What everything with a name may say. */
const named = (maxLength = 255) => ({
  name: about(
    'Its name; of several, {n} in any text of it is the number of each, {nnn} with leading zeros.',
    name(maxLength),
  ),
  extId: optional(about('Its id. Without one it follows from the name, and is the same in every world.', uuid())),
  count: optional(about('So many of them.', integer({ minimum: 1, maximum: largestGroup }))),
})
const description = () => optional(text({ maxLength: 1000, multiline: true }))
const categories = () => optional(about('Categories that it carries, as key/value.', names()))

const Category = object('', {
  key: name(64),
  value: about('With count, {n} is the number of each.', name(64)),
  description: description(),
  extId: optional(uuid()),
  count: optional(integer({ minimum: 1, maximum: 1000 })),
})

const User = object('', {
  ...named(64),
  userType: optional(
    about('Default: LOCAL, who signs in with the password of admin.', enumeration(['LOCAL', 'SERVICE_ACCOUNT'])),
  ),
  displayName: optional(text({ maxLength: 255 })),
  emailId: optional(text({ maxLength: 255 })),
  description: description(),
  status: optional(enumeration(['ACTIVE', 'INACTIVE'])),
  roles: optional(about('Roles that it has, on everything.', arrayOf(enumeration(systemRoles), { maxItems: 32 }))),
})

const Host = object('', {
  name: name(63),
  extId: optional(uuid()),
  address: optional(address()),
  cvmAddress: optional(address()),
  bmcAddress: optional(address()),
  memoryGiB: optional(GiB(16_384)),
  gpuList: optional(names(16)),
  categories: categories(),
})

const Container = object('', {
  name: name(75),
  extId: optional(uuid()),
  replicationFactor: optional(integer({ minimum: 1, maximum: 3 })),
  isCompressionEnabled: optional(boolean()),
  logicalAdvertisedCapacityGiB: optional(GiB(largestCount)),
  logicalExplicitReservedCapacityGiB: optional(GiB(largestCount)),
})

const Cluster = object('', {
  ...named(64),
  hypervisorType: optional(about('Default: AHV, the native one.', enumeration(['AHV', 'ESX']))),
  address: optional(about('Default: one of a /22 of 10.64.0.0/10 that the cluster has alone.', address())),
  dataServicesAddress: optional(address()),
  hosts: optional(
    about(
      'How many (default 3), or each of them.',
      oneOf(integer({ minimum: 1, maximum: 64 }), arrayOf(Host, { minItems: 1, maxItems: 64 })),
    ),
  ),
  hostMemoryGiB: optional(about('Memory of hosts that say nothing else. Default 768.', GiB(16_384))),
  containers: optional(
    about('Storage containers beside the one called default.', arrayOf(oneOf(name(75), Container), { maxItems: 64 })),
  ),
  categories: categories(),
})

const Vpc = object('', {
  ...named(),
  vpcType: optional(enumeration(['REGULAR', 'TRANSIT'])),
  description: description(),
  externalSubnets: optional(about('Subnets through which it reaches the outside.', names(2))),
  externallyRoutablePrefixes: optional(arrayOf(prefix(), { maxItems: 16 })),
})

const Subnet = object('', {
  ...named(),
  description: description(),
  cluster: optional(about('Of a VLAN. Default: the only native one.', name())),
  networkId: optional(about('VLAN tag; of several, the first one.', integer({ minimum: 0, maximum: 4095 }))),
  vpc: optional(about('Makes it an overlay subnet of this VPC.', name())),
  ipSubnet: optional(
    about('Its prefix; of several, that of the first one. Without it nobody manages its addresses.', prefix()),
  ),
  defaultGatewayIp: optional(about('Default: the first address.', address())),
  poolList: optional(
    about(
      'first-last; default: all from the tenth address on.',
      arrayOf(text({ minLength: 5, maxLength: 92, pattern: '^[0-9.]+ *- *[0-9.]+$' }), { maxItems: 8 }),
    ),
  ),
  domainName: optional(name()),
  domainNameServers: optional(arrayOf(address(), { maxItems: 8 })),
  isExternal: optional(boolean()),
  isNatEnabled: optional(boolean()),
})

const Image = object('', {
  ...named(256),
  type: optional(about('Default: by its name.', enumeration(['DISK_IMAGE', 'ISO_IMAGE']))),
  description: description(),
  sizeGiB: optional(about('Default 2.', GiB(1024))),
  clusters: optional(about('Where it lies. Default: on every native cluster.', names())),
  categories: categories(),
})

const Disk = object('', {
  sizeGiB: optional(GiB(1_048_576)),
  image: optional(about('What it is made from.', name())),
  container: optional(about('Default: default.', name())),
})

const Nic = object('', {
  subnet: name(),
  ipAddress: optional(address()),
  macAddress: optional(text({ pattern: '^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$' })),
})

/** One, or several of which each VM draws one. */
const drawn = (maximum: number) =>
  oneOf(integer({ minimum: 1, maximum }), arrayOf(integer({ minimum: 1, maximum }), { minItems: 1, maxItems: 32 }))

const Vm = object('', {
  ...named(80),
  description: description(),
  cluster: optional(about('Or several, in turn. Default: every native one that has all that it names.', nameOrNames())),
  vcpus: optional(about('Default 1; of several values one is drawn.', drawn(240))),
  memoryGiB: optional(about('Default 1; of several values one is drawn.', drawn(16_384))),
  disks: optional(about('Sizes in GiB, or more about each.', arrayOf(oneOf(GiB(1_048_576), Disk), { maxItems: 64 }))),
  nics: optional(about('Names of subnets, or more about each.', arrayOf(oneOf(name(), Nic), { maxItems: 64 }))),
  powerState: optional(about('Default: OFF.', enumeration(['OFF', 'ON']))),
  bootType: optional(enumeration(['LEGACY', 'UEFI'])),
  hasGuestTools: optional(boolean()),
  owner: optional(about('Name of a user. Default: admin.', name())),
  categories: categories(),
})

const VolumeGroup = object('', {
  ...named(),
  description: description(),
  cluster: optional(about('Default: the only native one, or that of its VMs.', name())),
  container: optional(about('Default: default.', name())),
  disksGiB: optional(arrayOf(GiB(1_048_576), { maxItems: 256 })),
  fullPercent: optional(about('How full its disks are.', integer({ minimum: 0, maximum: 100 }))),
  sharingStatus: optional(enumeration(['SHARED', 'NOT_SHARED'])),
  usageType: optional(enumeration(['BACKUP_TARGET', 'INTERNAL', 'TEMPORARY', 'USER'])),
  createdBy: optional(name()),
  vms: optional(about('VMs that have it on their SCSI bus.', names(16))),
  iscsiClients: optional(about('Initiator names.', names(32))),
  categories: categories(),
})

/** What the writer of a seed describes; the rest follows. */
const declared = {
  categories: optional(arrayOf(Category, { maxItems: 1000 })),
  users: optional(arrayOf(User, { maxItems: 1000 })),
  clusters: optional(arrayOf(Cluster, { maxItems: 500 })),
  vpcs: optional(arrayOf(Vpc, { maxItems: 1000 })),
  subnets: optional(arrayOf(Subnet, { maxItems: 1000 })),
  images: optional(arrayOf(Image, { maxItems: 1000 })),
  vms: optional(
    about(
      'How many more, powered off, on all native clusters; or what they are like.',
      oneOf(integer({ minimum: 0, maximum: largestCount }), arrayOf(Vm, { maxItems: 10_000 })),
    ),
  ),
  volumeGroups: optional(arrayOf(VolumeGroup, { maxItems: 1000 })),
}

/** What an export writes: rows as they were, and nothing else. */
const exact = {
  world: optional(
    about('Of an exported world: what is its own and in no row.', object('', { tenantId: uuid(), time: timestamp() })),
  ),
  entities: optional(
    about(
      'Rows as they are stored, by kind, in the order of their creation. Written by exports.',
      mapOf(arrayOf(anything())),
    ),
  ),
  facts: optional(
    about('Facts of the simulated infrastructure, by collection and id. Written by exports.', mapOf(mapOf(anything()))),
  ),
  leftOut: optional(
    about(
      'What an export did not take along, and what stands in for it. Nothing follows from it.',
      arrayOf(object('', { what: text(), count: integer(), instead: text() })),
    ),
  ),
}

const base = {
  extends: optional(
    about(
      'What it adds to: a preset (default: empty), or nothing, where its rows are the whole world.',
      enumeration([...presets, 'nothing']),
    ),
  ),
  random: optional(
    about(
      'What ids, placements and statistics are drawn from. Default: the text of this file.',
      text({ minLength: 1, maxLength: 256 }),
    ),
  ),
  names: optional(about('Other names for what a preset calls by these.', mapOf(name()))),
}

export const SeedFile = object('', { ...base, ...declared, ...exact })

export type SeedContent = NonNullable<ValueOf<typeof SeedFile>>
export type Declared = Pick<SeedContent, keyof typeof declared>
type ItemOf<S> = NonNullable<S> extends readonly (infer I)[] ? I : Extract<NonNullable<S>, readonly unknown[]>[number]
export type DeclaredCategory = ItemOf<Declared['categories']>
export type DeclaredUser = ItemOf<Declared['users']>
export type DeclaredCluster = ItemOf<Declared['clusters']>
export type DeclaredVpc = ItemOf<Declared['vpcs']>
export type DeclaredSubnet = ItemOf<Declared['subnets']>
export type DeclaredImage = ItemOf<Declared['images']>
export type DeclaredVm = Extract<NonNullable<Declared['vms']>, readonly unknown[]>[number]
export type DeclaredVolumeGroup = ItemOf<Declared['volumeGroups']>
