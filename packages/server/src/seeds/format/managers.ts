import { arrayOf, boolean, enumeration, integer, object, optional, text } from '@hyperplane/contract'
import { about, address, name, named, names, prefix } from './words.ts'

export const OwnManager = object('', { name: about('Default: one that follows from its id.', name(80)) })

const RemoteSubnet = object('', {
  name: name(64),
  ipSubnet: prefix(),
  defaultGatewayIp: optional(about('Default: the first address.', address())),
  poolList: optional(
    about(
      'Ranges, first-last. Default: from the tenth address on.',
      arrayOf(text({ maxLength: 91 }), { maxItems: 16 }),
    ),
  ),
  guests: optional(about('So many talk on it.', integer({ minimum: 0, maximum: 1000 }))),
})

export const Manager = object('', {
  ...named(64),
  address: address(),
  nodeAddresses: optional(about('Default: the one behind its own.', arrayOf(address(), { minItems: 1, maxItems: 3 }))),
  size: optional(about('Default: SMALL.', enumeration(['STARTER', 'SMALL', 'LARGE', 'EXTRALARGE']))),
  isRegistered: optional(about('false: it is in the world, and waits to be registered.', boolean())),
  subnets: optional(about('Managed ones, which layer-2 stretches can join.', arrayOf(RemoteSubnet, { maxItems: 100 }))),
  vtepGateways: optional(
    about('Its local ones.', arrayOf(object('', { name: name(64), address: address() }), { maxItems: 20 })),
  ),
  vpnConnections: optional(about('Their names.', names(20))),
})

export const Bucket = object('', {
  name: name(63),
  endpoint: optional(about('Host name of the object store. Default: s3.simulated.example.', name())),
  address: optional(about('Where it answers as well.', address())),
})

export const BackupTarget = object('', {
  cluster: optional(about('On this cluster;', name())),
  bucket: optional(about('or in this bucket.', name(63))),
  hasBackup: optional(about('There is a first one, of this world as it is described. Only on a cluster.', boolean())),
  rpoInMinutes: optional(about('Of a bucket. Default 60.', integer({ minimum: 60, maximum: 1440 }))),
})

export const PastTask = object('', {
  operation: about('As tasks name it: CreateVm.', name(64)),
  description: text({ minLength: 1, maxLength: 255 }),
  application: optional(about('Default: the namespace of what it was about.', name(32))),
  status: optional(about('Default: SUCCEEDED.', enumeration(['SUCCEEDED', 'FAILED', 'CANCELED']))),
  cluster: optional(about('What it was about: one of these.', name())),
  image: optional(name()),
  subnet: optional(name()),
  user: optional(name()),
  vm: optional(name()),
  volumeGroup: optional(name()),
})

export const PastBatch = object('', {
  name: name(256),
  categories: about('What it made, as key/value;', names(500)),
  failedCount: optional(about('and so many that were there already.', integer({ minimum: 0, maximum: 500 }))),
})
