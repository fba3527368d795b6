/** What a seed says of managers, this one and others, and of where they are backed up to. */
import { arrayOf, boolean, enumeration, integer, object, optional } from '@hyperplane/contract'
import { about, address, name, named } from './words.ts'

export const Manager = object('', {
  ...named(64),
  address: address(),
  nodeAddresses: optional(about('Default: the one behind its own.', arrayOf(address(), { minItems: 1, maxItems: 3 }))),
  size: optional(about('Default: SMALL.', enumeration(['STARTER', 'SMALL', 'LARGE', 'EXTRALARGE']))),
  isRegistered: optional(about('false: it is in the world, and waits to be registered.', boolean())),
})

export const Bucket = object('', {
  name: name(63),
  endpoint: optional(about('Host name of the object store. Default: s3.simulated.example.', name())),
  address: optional(about('Where it answers as well.', address())),
})

export const BackupTarget = object('', {
  cluster: optional(about('On this cluster;', name())),
  bucket: optional(about('or in this bucket.', name(63))),
  rpoInMinutes: optional(about('Of a bucket. Default 60.', integer({ minimum: 60, maximum: 1440 }))),
})
